#!/usr/bin/env python3
"""The measures of two papers by an SQL engine: the answers of the laboratory, from its features.

    resemble-lab dump --method shingle DIR > features
    measures.py features -o OUT --measure broder --engine duckdb

`broder` prints the clusters of Broder et al. 1997, a line each: what `resemble-lab groups --method
shingle` finds. `kasprzak` prints the pairs of Kasprzak et al. 2008 with their figure, best first:
what `resemble-lab pairs --method sorted5` finds. docs/scale.md says more.
"""

import argparse
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pyarrow
import pyarrow.parquet as parquet

import resemble_scale

STAGES = {
    "broder": ["shingle", "common", "usable", "total", "pair", "link"],
    "kasprzak": ["chunk", "total", "pair", "link"],
}
# The thresholds of the papers, in millionths.
LEAST = {"broder": 500_000, "kasprzak": 10_000}
# Features that are written together.
MANY = 1 << 20


def features(lines, folder):
    """Writes the table of features, and returns the names of each document. Documents with the same
    features are one, as in the papers; those without features are in no answer."""
    folder.mkdir(parents=True)
    schema = pyarrow.schema([(name, pyarrow.int64()) for name in ["doc", "key", "times"]])
    names, numbers = [], {}
    rows = ([], [], [])
    with parquet.ParquetWriter(folder / "part-0.parquet", schema) as writer:
        for line in lines:
            name, _, values = line.rstrip(b"\n").partition(b"\t")
            if not values:
                continue
            number = numbers.setdefault(values, len(names))
            if number < len(names):
                names[number].append(name)
                continue
            names.append([name])
            for value in values.split(b" "):
                key, _, times = value.partition(b"*")
                key = int(key, 16)
                for column, cell in zip(rows, (number, key - (key >> 63 << 64), int(times or 1))):
                    column.append(cell)
            if len(rows[0]) >= MANY:
                writer.write_table(pyarrow.table(list(rows), schema=schema))
                rows = ([], [], [])
        writer.write_table(pyarrow.table(list(rows), schema=schema))
    return names


def linked(names, links):
    """Returns the clusters: phase 4 of Broder et al., by union-find."""
    above = list(range(len(names)))

    def top(at):
        while above[at] != at:
            above[at] = above[above[at]]
            at = above[at]
        return at

    for a, b, *_ in links:
        above[max(top(a), top(b))] = min(top(a), top(b))
    clusters = {}
    for doc, of_doc in enumerate(names):
        clusters.setdefault(top(doc), []).extend(of_doc)
    return sorted(sorted(cluster) for cluster in clusters.values() if len(cluster) > 1)


def figures(names, links):
    """Returns pairs of names with the figure of Kasprzak et al., best first."""
    rows = [(1.0, *pair) for of_doc in names for pair in pairs_of(of_doc, of_doc)]
    for a, b, common, of_a, of_b in links:
        figure = common / min(of_a, of_b)
        rows += [(figure, *sorted(pair)) for pair in pairs_of(names[a], names[b])]
    return sorted(rows, key=lambda row: (-row[0], *row[1:]))


def pairs_of(ones, others):
    if ones is others:
        return [tuple(sorted((a, b))) for at, a in enumerate(ones) for b in ones[:at]]
    return [(a, b) for a in ones for b in others]


def answer(args, lines):
    out = args.out.absolute()
    names = features(lines, out / "feature")
    try:
        engine = resemble_scale.ENGINES[args.engine](args, str(out / "_scratch"))
    except ImportError as error:
        raise resemble_scale.Refused(f"{args.engine} is not installed ({error})")
    try:
        engine.table("feature", out / "feature")
        terms = {"degree": args.degree, "least": args.least}
        columns = [f"CAST({value} AS BIGINT) AS {name}" for name, value in terms.items()]
        engine.view("terms", f"SELECT {', '.join(columns)}")
        (out / "_stages").mkdir(exist_ok=True)
        of_stage = SimpleNamespace(engine=args.engine, sql=args.sql / args.measure, onto=None)
        for stage in STAGES[args.measure]:
            resemble_scale.make_stage(engine, of_stage, out, stage)
        links = engine.ask("SELECT a, b, common, of_a, of_b FROM link")
    finally:
        engine.stop()
    if args.measure == "broder":
        return [b"\t".join(cluster) for cluster in linked(names, links)]
    rows = figures(names, links)
    return [b"\t".join([str(figure).encode(), a, b]) for figure, a, b in rows]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("features", type=Path, help="of `resemble-lab dump`; - is standard input")
    parser.add_argument("-o", "--out", type=Path, required=True, help="a new folder")
    parser.add_argument("--measure", choices=STAGES, required=True)
    parser.add_argument("--min", help="50%%, or 1%%: that of the paper")
    resemble_scale.engine_arguments(parser)
    parser.add_argument("--sql", type=Path, default=resemble_scale.SQL, help="others, for tests")
    return parser


def main():
    args = arguments().parse_args()
    args.least = LEAST[args.measure]
    if args.min:
        args.least = round(float(args.min.removesuffix("%")) * 10_000)
    begun = time.monotonic()
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        if args.out.exists():
            raise resemble_scale.Refused(f"{args.out} is there; name a new folder")
        if str(args.features) == "-":
            rows = answer(args, sys.stdin.buffer)
        else:
            with args.features.open("rb") as lines:
                rows = answer(args, lines)
    except (resemble_scale.Refused, OSError, ValueError) as error:
        print(f"measures: {error}", file=sys.stderr)
        return 2
    finally:
        sys.stdout = stdout
    for row in rows:
        sys.stdout.buffer.write(row + b"\n")
    print(f"in all {time.monotonic() - begun:.1f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
