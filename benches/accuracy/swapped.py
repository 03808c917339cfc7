#!/usr/bin/env python3
"""Words that changed places: what `pairs` finds of a text when a share of its pairs of words is swapped, and what
sorted word chunks would (Kasprzak & Brandejs 2010).

    swapped.py TOOLS OUT [--binary resemble] [--seeds 1,2,3] [--languages en,de,ru] [--texts 20] [--words 600]
    swapped.py TOOLS OUT --among DIR

Words 2n and 2n + 1 of a text are a pair. A share of the pairs is swapped, chosen by the seed; "every second" swaps
pairs 0, 2, 4 ... A sorted chunk is the set of five words that follow each other, in the order of the alphabet, so it
stays the same when words in it change places. Prints a table: of how many texts `pairs` has a row of the text and its
swapped version, the mean a_in_b of these rows, rows of strangers, the mean share of sorted chunks in common, and how
many pairs of strangers have one, two and three sorted chunks in common. With --among it asks of the texts below DIR
how many pairs have two chunks in common, in order and sorted, and how many reach a quarter of the smaller text.
"""

import subprocess
from collections import Counter
from itertools import combinations
from pathlib import Path

from material import Corpus, Language, arguments

SHARES = ("0.02", "0.05", "0.1", "0.2", "0.3", "0.4", "every second", "0.7", "1")
CHUNK = 5
MOST = 200  # what more texts have nominates nobody here


def swapped(random, words, share):
    """The words, of which this share of pairs is swapped."""
    words = list(words)
    for pair in range(len(words) // 2):
        is_chosen = pair % 2 == 0 if share == "every second" else random.random() < float(share)
        if is_chosen:
            one = 2 * pair
            words[one], words[one + 1] = words[one + 1], words[one]
    return words


def chunks(words, order=sorted):
    """The chunks at all places of a text, sorted or in another order."""
    folded = [word.lower() for word in words]
    return {tuple(order(folded[at : at + CHUNK])) for at in range(len(folded) - CHUNK + 1)}


def among(common, top):
    """What sorted chunks nominate among the texts of a folder, beside chunks in order."""
    cut = [common.words(path.read_bytes()) for path in sorted(top.rglob("*")) if path.is_file()]
    cut = [list(words) for words in cut]
    cut = [words for words in cut if len(words) >= 30]
    shares = {}
    for name, order in (("in order", list), ("sorted", sorted)):
        texts = [chunks(words, order) for words in cut]
        holders = {}
        for number, text in enumerate(texts):
            for chunk in text:
                holders.setdefault(chunk, []).append(number)
        counts = Counter()
        for numbers in holders.values():
            if len(numbers) <= MOST:
                counts.update(combinations(numbers, 2))
        two = sum(count > 1 for count in counts.values())
        share = {
            pair: count / min(len(texts[pair[0]]), len(texts[pair[1]]))
            for pair, count in counts.items()
        }
        shares[name] = {pair for pair, part in share.items() if part >= 0.25}
        print(f"{name}: {two} pairs with two or more, {len(shares[name])} with a quarter")
    print(f"{len(cut)} texts, {len(shares['sorted'] - shares['in order'])} pairs more with a quarter")


def rows_of(binary, folder):
    """The rows of `pairs`: both names and a_in_b."""
    command = [binary, "pairs", ".", "--local", "--no-cache", "--format", "tsv"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    for line in done.stdout.splitlines():
        a, b, _, a_in_b = line.split("\t")[:4]
        yield a.removeprefix("./"), b.removeprefix("./"), float(a_in_b)


def main():
    options = arguments(
        __doc__,
        binary="resemble",
        seeds="1,2,3",
        languages="en,de,ru",
        texts=20,
        words=600,
        among=None,
    )
    corpus = Corpus(options.tools, options.out)
    if options.among:
        among(corpus.common, Path(options.among))
        return
    languages = [Language(code) for code in options.languages.split(",")]
    seeds = [int(seed) for seed in options.seeds.split(",")]
    bases = {}
    for seed in seeds:
        for number in range(options.texts):
            random = corpus.common.rng(seed, "swapped", number)
            language = languages[number % len(languages)]
            bases[seed, number] = list(language.take(random, options.words))
    strangers = [0, 0, 0]
    sorted_chunks = {key: chunks(words) for key, words in bases.items()}
    for one, other in combinations(sorted_chunks.values(), 2):
        common = len(one & other)
        for least in range(3):
            strangers[least] += common > least
    print("| swapped | rows | mean `a_in_b` | rows of strangers | sorted chunks in common |")
    print("|---|---|---|---|---|")
    for share in SHARES:
        found, scores, wrong, common = 0, 0.0, 0, 0.0
        for seed in seeds:
            folder = corpus.out / share.replace(" ", "-") / str(seed)
            for number in range(options.texts):
                random = corpus.common.rng(seed, "swaps", share, number)
                words = bases[seed, number]
                moved = swapped(random, words, share)
                known = sorted_chunks[seed, number]
                common += len(known & chunks(moved)) / len(known)
                for name, text in (("a", words), ("b", moved)):
                    path = folder / f"{number:03}-{name}.txt"
                    corpus.common.write(path, (" ".join(text) + "\n").encode())
            for a, b, score in rows_of(options.binary, folder):
                is_pair = a.split("-")[0] == b.split("-")[0]
                found, scores = found + is_pair, scores + score * is_pair
                wrong += not is_pair
        texts = len(bases)
        mean = f"{scores / found:.3f}" if found else "–"
        print(f"| {share} | {found} of {texts} | {mean} | {wrong} | {common / texts:.3f} |")
    pairs = len(bases) * (len(bases) - 1) // 2
    counts = ", ".join(f"{count} with {least + 1} or more" for least, count in enumerate(strangers))
    print(f"\nstrangers: {pairs} pairs, {counts} sorted chunks in common")


if __name__ == "__main__":
    main()
