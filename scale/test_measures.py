#!/usr/bin/env python3
"""An engine gives the answers of the laboratory: docs/scale.md, "The measures of two papers".

    test_measures.py --lab target/debug/resemble-lab [--tree DIR] [--engine ENGINE ...]
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import made

HERE = Path(__file__).resolve().parent
# Few bits of a chunk's hash, so that documents have several equal ones.
METHODS = {
    "broder": ["--method", "shingle"],
    "kasprzak": ["--method", "sorted5", "--bits", "12"],
}


class Red(Exception):
    """A test that failed."""


def made_tree(root):
    """Makes versions and copies, and more documents under one header than a common shingle may
    have.
    """
    draw = random.Random(3)
    for family in range(60):
        version = made.text(draw, draw.choice([40, 200, 900]))
        for number in range(draw.randint(1, 5)):
            made.put(root, f"{family:02}/{number}.txt", version)
            version = made.edited(draw, version, draw.choice([0.05, 0.2, 0.5]))
    made.put(root, "empty.txt", "")
    made.put(root, "small.txt", "four words are few")
    header = made.text(draw, 400)
    for number in range(1100):
        made.put(root.with_name("headed"), f"{number:04}.txt", header + made.text(draw, 100))
    return root


def run(command, answers=(0,)):
    ran = subprocess.run([str(part) for part in command], capture_output=True, check=False)
    if ran.returncode not in answers:
        raise Red(f"{command}: exit {ran.returncode}\n{ran.stderr.decode()[-2000:]}")
    return ran.stdout


def by_laboratory(lab, measure, tree, features):
    """Returns the laboratory's own answer, as lines in the form of `measures.py`. Files without
    features are left out: the laboratory finds equal ones among them by their bytes."""
    lines = features.read_bytes().decode("utf-8", "surrogateescape").splitlines()
    featured = {name for name, _, values in (line.partition("\t") for line in lines) if values}
    verb = {"broder": "groups", "kasprzak": "pairs"}[measure]
    found = json.loads(
        run([lab, verb, *METHODS[measure], tree, "--format", "json"], answers=(0, 1)),
        parse_float=str,
    )
    if measure == "broder":
        groups = [[group, *group["members"]] for group in found["groups"]]
        rows = [sorted({member["path"] for member in group} & featured) for group in groups]
        rows = [row for row in rows if row]
        return ["\t".join(row) for row in sorted(rows)]
    rows = [(row["score"], *sorted((row["a"], row["b"]))) for row in found["pairs"]]
    rows = [row for row in rows if featured.issuperset(row[1:])]
    rows.sort(key=lambda row: (-float(row[0]), *row[1:]))
    return ["\t".join(row) for row in rows]


def tests(args, folder):
    tree = (args.tree or made_tree(folder / "tree/versions")).resolve()
    # Any two of the documents under one header would be a pair of Kasprzak et al.
    trees = {"broder": tree if args.tree else tree.parent, "kasprzak": tree}
    for measure, method in METHODS.items():
        tree = trees[measure]
        features = folder / f"{measure}.features"
        features.write_bytes(run([args.lab, "dump", *method, tree]))
        expected = by_laboratory(args.lab, measure, tree, features)
        if len(expected) < 20:
            raise Red(f"{measure}: only {len(expected)} rows: nothing is tested")
        for engine in args.engine or ["duckdb", "datafusion"]:
            script = [sys.executable, HERE / "measures.py", features, "--measure", measure]
            out = folder / f"{measure}-{engine}"
            found = run([*script, "-o", out, "--engine", engine, "--memory", args.memory])
            found = found.decode("utf-8", "surrogateescape").splitlines()
            if found != expected:
                both = zip(found, expected)
                other = next((pair for pair in both if pair[0] != pair[1]), "one is longer")
                raise Red(f"{measure} by {engine}: {len(found)}, {len(expected)} rows: {other}")
            print(f"the same {len(found):,} rows: {measure} by {engine}", flush=True)
        if not args.tree:
            canary(measure, features, expected, folder)


def canary(measure, features, expected, folder):
    """Without the rule of the paper the answer must differ, or nothing is tested."""
    stage, old, new = {
        "broder": ("2-common", "> MAX(t.degree)", "> 100 * MAX(t.degree)"),
        "kasprzak": ("3-pair", "SUM(LEAST(a.times, b.times))", "COUNT(*)"),
    }[measure]
    sql = folder / f"{measure}-sql"
    shutil.copytree(HERE / "sql", sql)
    file = sql / measure / f"{stage}.sql"
    text = file.read_text()
    if text.count(old) != 1:
        raise Red(f"{file.name} has other words than {old!r}")
    file.write_text(text.replace(old, new))
    script = [sys.executable, HERE / "measures.py", features, "--measure", measure]
    found = run([*script, "-o", folder / f"{measure}-canary", "--sql", sql]).decode().splitlines()
    if found == expected:
        raise Red(f"{measure}: nothing depends on {old}")
    print(f"another answer with {new}: {measure}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", required=True, help="the program resemble-lab")
    parser.add_argument("--tree", type=Path, help="instead of a made one")
    parser.add_argument("--engine", action="append", help="instead of DuckDB and DataFusion")
    parser.add_argument("--memory", default="1G")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="resemble-measures-") as folder:
        try:
            tests(args, Path(folder))
        except Red as red:
            print(f"RED: {red}", file=sys.stderr)
            return 1
    print("all is well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
