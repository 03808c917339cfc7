#!/usr/bin/env python3
"""MinHash libraries and `resemble pairs` on the same texts: time, bytes a text, recall.

    minhash.py DIR --resemble PROGRAM --python PYTHON [--incrededup PROGRAM] [--most 20000]

PYTHON has `datasketch`, `rensa` and `resemble`, the wheel (docs/python.md). DIR has texts, such as
those of `families` in scale/made.py. The truth is computed from the exact sets of five-word
shingles: two texts with a resemblance of 50 % or more are a pair, and two without common shingles
are strangers. Libraries are used as their pages say, with 128 permutations and a threshold of 50 %.
A pair counts as found if the index returns it, so estimates lose no pair. The program incrededup
(`cargo install incrededup`) takes texts from a table and gives each duplicate a parent: it has
found all pairs below one parent.
"""

import argparse
import json
import os
import pickle
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter, defaultdict
from itertools import combinations, product
from pathlib import Path

PERMUTATIONS, THRESHOLD, WORDS = 128, 0.5, 5


def shingles(text):
    words = text.split()
    return {" ".join(words[at : at + WORDS]) for at in range(max(len(words) - WORDS + 1, 1))}


def texts(names):
    for name in names:
        yield name, Path(name).read_text()


def datasketch(names):
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    made = []
    for name, text in texts(names):
        sketch = MinHash(num_perm=PERMUTATIONS)
        sketch.update_batch([shingle.encode() for shingle in shingles(text)])
        index.insert(name, sketch)
        made.append((name, sketch))
    pairs = {tuple(sorted((name, other))) for name, it in made for other in index.query(it)}
    return pairs, len(pickle.dumps((index, made)))


def rensa(names):
    from rensa import RMinHash, RMinHashLSH

    index = RMinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS, num_bands=32)
    made = []
    for number, (_, text) in enumerate(texts(names)):
        sketch = RMinHash(num_perm=PERMUTATIONS, seed=42)
        sketch.update(list(shingles(text)))
        index.insert(number, sketch)
        made.append(sketch)
    pairs = set()
    for number, sketch in enumerate(made):
        pairs |= {tuple(sorted((names[number], names[it]))) for it in index.query(sketch)}
    # Size of the sketches; the size of the index is unknown.
    return pairs, len(pickle.dumps(made))


def wheel(names):
    import resemble

    rows = resemble.pairs([text for _, text in texts(names)], THRESHOLD, score="resemblance")
    # Equal texts are one content, which has the place of the first.
    of = defaultdict(set)
    for row in rows:
        of[row.a].add(row.a)
        if row.relation == "identical":
            of[row.a].add(row.b)
    pairs = set()
    for row in rows:
        if row.relation == "identical":
            pairs |= set(combinations(sorted(of[row.a]), 2))
        else:
            pairs |= {tuple(sorted(pair)) for pair in product(of[row.a], of[row.b] | {row.b})}
    # It stores nothing.
    return {tuple(sorted((names[a], names[b]))) for a, b in pairs}, 0


LIBRARIES = {"datasketch": datasketch, "rensa": rensa, "wheel": wheel}


def of_library(name, names):
    """Runs in a process of its own; returns the pairs, and the resources used."""
    begun = time.monotonic()
    pairs, size = LIBRARIES[name](names)
    seconds, used = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_SELF)
    return {
        "seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "bytes": size,
        "pairs": sorted(pair for pair in pairs if pair[0] != pair[1]),
    }


def timed(command, **how):
    """Returns the output of a program, and the resources used."""
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, **how)
    seconds, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return ran.stdout, {"seconds": seconds, "cpu": cpu}


def of_incrededup(program, names, folder):
    """Uses shingles of three words at the threshold, for all sizes; its minimum is 500 bytes."""
    base, data = folder / "texts.db", folder / "data"
    connection = sqlite3.connect(base)
    connection.execute(
        "CREATE TABLE documents (id TEXT PRIMARY KEY, content TEXT NOT NULL,"
        " content_len INTEGER NOT NULL, filename TEXT, is_parent INTEGER)"
    )
    connection.execute(
        "CREATE TABLE dupes (child_id TEXT PRIMARY KEY, parent_id TEXT NOT NULL,"
        " jaccard_similarity REAL NOT NULL, size_difference INTEGER NOT NULL,"
        " size_difference_pct REAL NOT NULL)"
    )
    ids = {str(uuid.UUID(int=number)): name for number, name in enumerate(names, 1)}
    rows = (
        (number, text, len(text), name)
        for number, (name, text) in zip(ids, texts(names), strict=True)
    )
    connection.executemany("INSERT INTO documents VALUES (?, ?, ?, ?, NULL)", rows)
    connection.commit()
    command = [program, "--sqlite", base, "--data-dir", data, "--threshold", THRESHOLD]
    command += ["--size-diff", 1.0, "--min-content-len", 1]
    _, used = timed(command, check=True)
    size = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
    families = defaultdict(set)
    for child, parent in connection.execute("SELECT child_id, parent_id FROM dupes"):
        families[parent] |= {ids[child], ids[parent]}
    pairs = set()
    for family in families.values():
        pairs |= set(combinations(sorted(family), 2))
    return {**used, "bytes": size, "pairs": sorted(pairs)}


def of_resemble(program, names, folder):
    state = folder / "state"
    listed = folder / "names"
    listed.write_text("".join(f"{name}\n" for name in names))
    command = [program, "--local", "--state", state, "-q", "pairs", "--files-from", listed]
    env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    out, used = timed([*command, "--all", "--format", "json"], check=False, env=env)
    files = [file for file in folder.rglob("*") if file.is_file() and file != listed]
    size = sum(file.stat().st_size for file in files)
    rows = json.loads(out)["pairs"]
    pairs = [sorted((os.path.abspath(row["a"]), os.path.abspath(row["b"]))) for row in rows]
    return {**used, "bytes": size, "pairs": pairs}


def truth(names):
    """Returns pairs by shared over union of their shingles."""
    sets = [shingles(text) for _, text in texts(names)]
    having = defaultdict(list)
    for number, of_text in enumerate(sets):
        for shingle in of_text:
            having[shingle].append(number)
    common = Counter()
    for numbers in having.values():
        common.update((a, b) for at, b in enumerate(numbers) for a in numbers[:at])
    resemblance = {}
    for (a, b), count in common.items():
        share = count / (len(sets[a]) + len(sets[b]) - count)
        resemblance[tuple(sorted((names[a], names[b])))] = share
    return resemblance


def main():
    if sys.argv[1:2] == ["--library"]:
        json.dump(of_library(sys.argv[2], json.load(sys.stdin)), sys.stdout)
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--resemble", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--incrededup", help="the program")
    parser.add_argument("--most", type=int, default=20_000, help="texts")
    args = parser.parse_args()
    files = (file for file in args.tree.rglob("*") if file.is_file())
    names = sorted(str(file.absolute()) for file in files)[: args.most]
    answers = {}
    for name in LIBRARIES:
        ran = subprocess.run(
            [args.python, __file__, "--library", name],
            input=json.dumps(names),
            text=True,
            stdout=subprocess.PIPE,
            check=True,
        )
        answers[name] = json.loads(ran.stdout)
    if args.incrededup:
        with tempfile.TemporaryDirectory(prefix="minhash-") as folder:
            answers["incrededup"] = of_incrededup(args.incrededup, names, Path(folder))
    with tempfile.TemporaryDirectory(prefix="minhash-") as folder:
        answers["resemble"] = of_resemble(args.resemble, names, Path(folder))
    resemblance = truth(names)
    wanted = {pair for pair, share in resemblance.items() if share >= THRESHOLD}
    print(f"{len(names):,} texts, {len(wanted):,} pairs of {THRESHOLD:.0%} or more")
    for name, found in answers.items():
        pairs = {tuple(pair) for pair in found["pairs"]}
        strangers = sum(pair not in resemblance for pair in pairs)
        right = len(pairs & wanted)
        print(
            f"{name:10} {len(names) / found['seconds']:9,.0f} texts/s {found['cpu']:7.1f} s CPU"
            f" {found['bytes'] / len(names):8,.0f} bytes a text"
            f" recall {right / max(len(wanted), 1):.4f} precision {right / max(len(pairs), 1):.4f}"
            f" {len(pairs):9,} pairs, {strangers} strangers"
        )


if __name__ == "__main__":
    main()
