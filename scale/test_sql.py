#!/usr/bin/env python3
"""Tests the statements against hand counts, and many batches against one, on made postings.

    test_sql.py [ENGINE ...]

Without names DuckDB and DataFusion run. There are so few keys that every case of the statements
occurs: common pieces, levels, headers, wholes, contents on several machines.
"""

import contextlib
import io
import json
import random
import sys
import tempfile
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet

import resemble_scale

DEGREE = 48
CHUNK, SAMPLE = 0, 1


def level_of(key):
    return 3 + 32 - key.bit_length()


def made(draw):
    """Makes contents by name: size, level, pieces, and whether each is the whole of an archive."""
    key = lambda: draw.getrandbits(32 - draw.randint(0, 5))
    hot, known = [key() for _ in range(12)], [key() for _ in range(60)] + [0, 2**32 - 1]
    chunks = [draw.getrandbits(40) for _ in range(40)]
    contents = {}
    for _ in range(draw.randint(5, 90)):
        level = draw.choice([3, 3, 3, 4, 5, 7])
        samples = [key for key in hot if draw.random() < 0.6]
        samples += draw.sample(known, draw.choice([0, 1, 3]))
        samples += [key() for _ in range(draw.choice([0, 20, 150]))]
        pieces = {(SAMPLE, key) for key in samples if level_of(key) >= level}
        pieces |= {(CHUNK, key) for key in draw.sample(chunks, draw.choice([0, 0, 0, 1]))}
        size = draw.choice([100, 255, 256, 5000])
        name = draw.getrandbits(64) - 2**63
        contents[name] = (size, level, pieces, draw.random() < 0.2)
    return contents


def by_hand(contents):
    """Computes the stages `pair`, `link` and `rest`, as docs/scale.md defines them."""
    having = defaultdict(list)
    for name, (_, _, pieces, _) in contents.items():
        for piece in pieces:
            having[piece].append(name)
    pair = defaultdict(Counter)
    for (kind, _), names in having.items():
        if len(names) <= DEGREE:
            for a, b in combinations(sorted(names), 2):
                pair[a, b][kind] += 1

    def rare(name, level):
        samples = [key for kind, key in contents[name][2] if kind == SAMPLE]
        samples = [key for key in samples if 16 * len(having[SAMPLE, key]) <= DEGREE]
        return sum(level_of(key) >= level for key in samples)

    def is_header(name):
        samples = sum(kind == SAMPLE for kind, _ in contents[name][2])
        return samples > 0 and 2 * (samples - rare(name, 0)) >= samples

    link, rest = {}, defaultdict(Counter)
    for (a, b), common in pair.items():
        (size_a, level_a, _, whole_a), (size_b, level_b, _, whole_b) = contents[a], contents[b]
        level = max(level_a, level_b)
        fewer = min(rare(a, level), rare(b, level))
        enough = 32 * common[SAMPLE] >= fewer
        judged = min(size_a, size_b) >= 256 and (common[CHUNK] >= 1 or enough)
        nominated = common[SAMPLE] >= 2 or common[CHUNK] >= 1 or fewer <= 4
        nominated = nominated or (is_header(a) and is_header(b))
        if nominated and (judged or (whole_a and whole_b)):
            link[a, b] = common
        else:
            rest[a] += common
            rest[b] += common

    def rows(table):
        names = lambda key: key if isinstance(key, tuple) else (key,)
        return sorted((*names(key), of[SAMPLE], of[CHUNK]) for key, of in table.items())

    return {"pair": rows(pair), "link": rows(link), "rest": rows(rest)}


def write(folder, catalogues):
    """Writes tables in the layout of `resemble catalogue write`."""
    for label, contents in catalogues.items():
        names = list(contents)
        postings = [(n, *piece) for n in names for piece in sorted(contents[n][2])]
        wholes = [name for name in names if contents[name][3]]
        tables = {
            "head": {"schema": [1], "params": [b"p"], "label": [label.encode()], "salt": [0]},
            "contents": {
                "cid": names,
                "digest": [name.to_bytes(8, "big", signed=True) for name in names],
                "size": [contents[name][0] for name in names],
                "level": [contents[name][1] for name in names],
            },
            "postings": {
                "cid": [row[0] for row in postings],
                "kind": [row[1] for row in postings],
                "key": [row[2] for row in postings],
            },
            "parts": {"cid": wholes, "role": [3] * len(wholes), "part": wholes},
        }
        listed = []
        for name, columns in tables.items():
            binary = ("params", "label", "digest")
            kinds = {c: pyarrow.binary() if c in binary else pyarrow.int64() for c in columns}
            arrays = {c: pyarrow.array(values, kinds[c]) for c, values in columns.items()}
            file = folder / name / f"catalogue={label}" / "rows.parquet"
            file.parent.mkdir(parents=True)
            parquet.write_table(pyarrow.table(arrays), file)
            size = file.stat().st_size
            listed.append({"file": str(file.relative_to(folder)), "bytes": size})
        manifest = folder / "_manifest" / f"{label}.json"
        manifest.parent.mkdir(exist_ok=True)
        manifest.write_text(json.dumps({"tables": listed}))


def run(tables, out, engine, *more):
    line = [str(tables), "-o", str(out), "--engine", engine, "--degree", str(DEGREE), *more]
    with contextlib.redirect_stdout(io.StringIO()):
        resemble_scale.run(resemble_scale.arguments().parse_args(line))
    found = {}
    for stage in ["pair", "link", "rest"]:
        rows = parquet.read_table(out / stage).to_pylist()
        found[stage] = sorted(tuple(row.values()) for row in rows)
    return found


def check(seed, engine, folder):
    draw = random.Random(seed)
    contents = made(draw)
    labels = ["a", "b", "c"]
    catalogues = {label: {} for label in labels}
    for name, content in contents.items():
        for label in draw.sample(labels, draw.choice([1, 1, 2])):
            catalogues[label][name] = content
    expected = by_hand(contents)
    write(folder / "tables", catalogues)
    one = run(folder / "tables", folder / "one", engine)
    assert one == expected, f"{engine} {seed}: not as by hand"
    # In batches: some catalogues, others, and finally all of them.
    before = []
    for number, batch in enumerate([draw.sample(labels, 1), draw.sample(labels, 2), labels]):
        tables, out = folder / f"tables-{number}", folder / f"batch-{number}"
        write(tables, {label: catalogues[label] for label in batch})
        onto = ["--onto", str(before[-1])] if before else []
        found = run(tables, out, engine, *onto)
        held = {n: c for label in batch for n, c in catalogues[label].items()}
        assert found == by_hand(held), f"{engine} {seed}: batch {number} {batch}"
        before.append(out)


def main():
    for engine in sys.argv[1:] or ["duckdb", "datafusion"]:
        told_apart = Counter()
        for seed in range(12):
            with tempfile.TemporaryDirectory(prefix="resemble-sql-") as folder:
                check(seed, engine, Path(folder))
            found = by_hand(made(random.Random(seed)))
            told_apart.update({stage: len(rows) for stage, rows in found.items()})
        assert min(told_apart.values()) > 200, f"nothing was told apart: {told_apart}"
        print(f"{engine}: as counted by hand, in one batch and in several")


if __name__ == "__main__":
    main()
