#!/usr/bin/env python3
"""The Python wheel at scale: signatures beside rensa on one core, and `dedupe` of many texts.

    wheel.py signatures [--texts 100000]     texts a second, in turns, the best of three
    wheel.py dedupe [--texts 1000000]        seconds, memory beyond the texts, recall and precision

Python needs `resemble`, and for signatures `rensa`. Texts are made: 150 words of 2,000, or for `dedupe` in
families of two, of which the second has 8 % of its lines replaced; so what is a duplicate is known.
"""

import argparse
import os
import random
import resource
import time

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el")]
WORDS, LINE, EDITED = 150, 12, 0.08


def vocabulary():
    draw = random.Random(1)
    return ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) for _ in range(2000)]


def lines(draw, words, count=WORDS):
    return [" ".join(draw.choices(words, k=LINE)) for _ in range(-(-count // LINE))]


def signatures(count):
    import rensa
    import resemble

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    draw, words = random.Random(2), vocabulary()
    texts = ["\n".join(lines(draw, words)) for _ in range(count)]
    split = [text.split() for text in texts]

    def of_rensa():
        for tokens in split:
            sketch = rensa.RMinHash(num_perm=128, seed=42)
            sketch.update(tokens)
            sketch.digest()

    def of_rensa_matrix():
        rensa.RMinHash.digest_matrix_from_token_sets(split, num_perm=128, seed=42)

    def of_rensa_matrix_and_split():
        cut = [text.split() for text in texts]
        rensa.RMinHash.digest_matrix_from_token_sets(cut, num_perm=128, seed=42)

    def of_rensa_shingles():
        for text in texts:
            tokens = text.split()
            sketch = rensa.RMinHash(num_perm=128, seed=42)
            sketch.update([" ".join(tokens[at : at + 5]) for at in range(len(tokens) - 4)])
            sketch.digest()

    ways = {
        "resemble, five-word shingles of the text": lambda: resemble.signatures(texts),
        "rensa, words already cut": of_rensa,
        "rensa, five-word shingles of the text": of_rensa_shingles,
        "rensa, a matrix, words already cut": of_rensa_matrix,
        "rensa, a matrix, words of the text": of_rensa_matrix_and_split,
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(3):
        for name, way in ways.items():
            begun = time.process_time()
            way()
            best[name] = min(best[name], time.process_time() - begun)
    for name, seconds in best.items():
        print(f"{name:45} {count / seconds:10,.0f} texts/s of CPU on one core")


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def dedupe(count):
    import resemble

    draw, words = random.Random(3), vocabulary()
    texts = []
    while len(texts) < count:
        of = lines(draw, words)
        copy = [lines(draw, words, LINE)[0] if draw.random() < EDITED else line for line in of]
        for version in (of, copy):
            texts.append("\n".join(version))
    order = list(range(len(texts)))
    draw.shuffle(order)
    place = {at: number for number, at in enumerate(order)}
    twin = [place[at ^ 1] for at in order]
    texts = [texts[at] for at in order]
    size = sum(map(len, texts)) / 1e6
    before, begun = peak(), time.monotonic()
    used = time.process_time()
    found = resemble.dedupe(texts, 0.7)
    seconds, used = time.monotonic() - begun, time.process_time() - used
    right = sum(twin[row.text] == row.of for row in found.duplicates)
    # Twins with less of each other are no duplicates; so each is measured that was not found.
    gone = {row.text for row in found.duplicates}
    missed = 0
    for a in found.selected:
        b = twin[a]
        if b > a and b not in gone:
            share = resemble.why(texts[b], texts[a])["a_in_b"]
            missed += share is not None and share >= 0.7
    print(
        f"{len(texts):,} texts of {size:,.0f} MB: {seconds:.1f} s, {used:.1f} s CPU,"
        f" {peak() - before:,.0f} MiB beyond {before:,.0f} MiB;"
        f" {len(found.duplicates):,} duplicates, recall"
        f" {right / max(right + missed, 1):.6f} precision"
        f" {right / max(len(found.duplicates), 1):.6f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["signatures", "dedupe"])
    parser.add_argument("--texts", type=int)
    args = parser.parse_args()
    if args.what == "signatures":
        signatures(args.texts or 100_000)
    else:
        dedupe(args.texts or 1_000_000)


if __name__ == "__main__":
    main()
