#!/usr/bin/env python3
"""Measures how the engines grow on made tables, and extrapolates to more contents.

    growth.py make CONTENTS TABLES           tables of CONTENTS contents, as of texts of 150 words
    growth.py run TABLES OUT --engine E ...  one run of resemble_scale.py; a line in --results
    growth.py tell                           the figures of --results, and the forecast

docs/scale.md has the results. Finding pairs does not need this program.
"""

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Rows of a text of 150 words, and the share of eight versions that keep each.
CHUNKS, SAMPLES, FAMILY, KEPT = 1, 19, 8, 0.8
SAMPLE_BITS = 32
# Contents that are made at once.
PART = 1_000_000
ROW_OF_RESULTS = re.compile(r"(\w+) +([\d,]+) rows +([\d.]+) MB +([\d.]+) s")


def make(contents, folder):
    """Makes families of eight versions; a version keeps each piece with probability KEPT. In
    addition, a tenth of all contents share a header with too many others for it to count."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    label = "catalogue=made"
    places = {name: folder / name / label for name in ["head", "contents", "postings", "parts"]}
    for place in places.values():
        place.mkdir(parents=True)
    listed = []

    def write(name, number, columns):
        file = places[name] / f"part-{number}.parquet"
        table = pyarrow.table(columns)
        encoding = {"column_encoding": {"cid": "DELTA_BINARY_PACKED"}, "use_dictionary": False}
        options = encoding if name == "postings" else {}
        pyarrow.parquet.write_table(table, file, compression="zstd", **options)
        listed.append({"file": str(file.relative_to(folder)), "bytes": file.stat().st_size})

    draw = numpy.random.default_rng(1)
    each = CHUNKS + SAMPLES
    kind = numpy.repeat(numpy.array([0, 1]), [CHUNKS, SAMPLES])

    def keys(count):
        chunks = draw.integers(-(1 << 63), 1 << 63, (count, CHUNKS), dtype=numpy.int64)
        samples = draw.integers(0, 1 << SAMPLE_BITS, (count, SAMPLES), dtype=numpy.int64)
        return numpy.concatenate([chunks, samples], axis=1)

    # Few enough headers for each to be in too many contents to be usable.
    headers = keys(max(contents // 20_000, 1))
    # In the order of their names, as the product writes them: the range is cut into parts.
    width = (1 << 64) // -(-contents // PART)
    for number, at in enumerate(range(0, contents, PART)):
        count = min(PART, contents - at)
        low = -(1 << 63) + number * width
        cids = numpy.sort(draw.integers(low, low + width - 1, count, dtype=numpy.int64))
        members = draw.permutation(count)
        pieces = numpy.repeat(keys(-(-count // FAMILY)), FAMILY, axis=0)[:count]
        own = keys(count)
        pieces = numpy.where(draw.random((count, each)) < KEPT, pieces, own)
        headed = draw.random(count) < 0.1
        pieces[headed, CHUNKS] = headers[draw.integers(0, len(headers), count)][headed, CHUNKS]
        pieces = pieces[members]
        write("contents", number, {
            "cid": cids, "digest": digests_of(cids),
            "size": numpy.full(count, 1000), "kind": numpy.full(count, 1),
            "level": numpy.full(count, 3),
            "words": pyarrow.nulls(count, pyarrow.binary()),
        })
        write("postings", number, {
            "cid": numpy.repeat(cids, each), "kind": numpy.tile(kind, count),
            "key": pieces.reshape(-1), "times": numpy.full(count * each, 1),
        })
    write("parts", 0, {
        "cid": pyarrow.array([], pyarrow.int64()), "number": pyarrow.array([], pyarrow.int64()),
        "parent": pyarrow.array([], pyarrow.int64()), "role": pyarrow.array([], pyarrow.int64()),
        "name": pyarrow.array([], pyarrow.binary()), "part": pyarrow.array([], pyarrow.int64()),
    })
    write("head", 0, {
        "schema": [1], "params": [b"made"], "label": [b"made"], "created": [0], "salt": [0],
        "files": [contents], "contents": [contents], "postings": [contents * each], "parts": [0],
    })
    (folder / "_manifest").mkdir()
    (folder / "_manifest" / "made.json").write_text(json.dumps({"tables": listed}))


def digests_of(cids):
    """Returns a distinct value for each content."""
    raw = cids.astype("<i8").tobytes()
    return [raw[at : at + 8] * 4 for at in range(0, len(raw), 8)]


class Watcher(threading.Thread):
    """Samples the resources of a process and its descendants five times a second."""

    def __init__(self, pid, scratch):
        super().__init__(daemon=True)
        self.pid, self.scratch = pid, scratch
        self.memory = self.spilled = 0
        self.cpu = {}
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(0.2):
            parents, used = {}, {}
            for entry in os.listdir("/proc"):
                if entry.isdigit():
                    try:
                        stat = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
                    except OSError:
                        continue
                    parents[int(entry)] = int(stat[1])
                    used[int(entry)] = (int(stat[11]) + int(stat[12]), int(stat[21]))
            ours = {self.pid}
            while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
                ours |= more
            ours &= used.keys()
            ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
            self.cpu.update({pid: used[pid][0] / ticks for pid in ours})
            self.memory = max(self.memory, sum(used[pid][1] for pid in ours) * page)
            self.spilled = max(self.spilled, size_of(self.scratch))


def size_of(folder):
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_size
            except OSError:
                pass
    return total


def run(args):
    shutil.rmtree(args.out, ignore_errors=True)
    command = [args.python, str(HERE / "resemble_scale.py"), str(args.tables), "-o", str(args.out)]
    command += ["--engine", args.engine, "--memory", args.memory, *args.more]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watcher = Watcher(process.pid, args.out / "_scratch")
    watcher.start()
    stages = {}
    for line in process.stdout:
        print(line, end="", flush=True)
        if stage := ROW_OF_RESULTS.match(line):
            name, rows, size, seconds = stage.groups()
            stages[name] = {
                "rows": int(rows.replace(",", "")), "mb": float(size), "seconds": float(seconds)
            }
    code = process.wait()
    watcher.ended.set()
    watcher.join()
    manifest = json.loads(next((args.tables / "_manifest").glob("*.json")).read_text())
    row = {
        "date": time.strftime("%Y-%m-%d"), "engine": args.engine, "memory": args.memory,
        "more": args.more, "contents": args.contents, "complete": code == 0,
        "tables_mb": round(sum(table["bytes"] for table in manifest["tables"]) / 1e6, 1),
        "seconds": round(time.monotonic() - begun, 1), "cpu": round(sum(watcher.cpu.values()), 1),
        "memory_mb": round(watcher.memory / 1e6), "spilled_mb": round(watcher.spilled / 1e6),
        "stages": stages,
    }
    with open(args.results, "a") as results:
        results.write(json.dumps(row) + "\n")
    print({name: value for name, value in row.items() if name != "stages"})
    if not args.keep:
        shutil.rmtree(args.out, ignore_errors=True)
    return code


def tell(args):
    """Fits a power of the number of contents to the logarithms of the CPU times."""
    rows = [json.loads(line) for line in args.results.read_text().splitlines()]
    rows = [row for row in rows if row["complete"]]
    print("engine        contents   postings       pairs  seconds      CPU  memory  spilled  us each")
    engines = {}
    for row in sorted(rows, key=lambda row: (row["engine"], row["contents"])):
        stages = row["stages"]
        print(
            f"{row['engine']:10} {row['contents']:11,} {stages['posting']['rows']:10,}"
            f" {stages['pair']['rows']:11,} {row['seconds']:8.1f} {row['cpu']:8.1f}"
            f" {row['memory_mb']:7,} {row['spilled_mb']:8,} {row['cpu'] / row['contents'] * 1e6:10.1f}"
        )
        engines.setdefault(row["engine"], []).append(row)
    for engine, rows in engines.items():
        points = [(math.log(row["contents"]), math.log(row["cpu"])) for row in rows]
        if len({x for x, _ in points}) < 3:
            print(f"{engine}: three sizes are needed for a forecast")
            continue
        x0 = sum(x for x, _ in points) / len(points)
        y0 = sum(y for _, y in points) / len(points)
        squares = sum((x - x0) ** 2 for x, _ in points)
        slope = sum((x - x0) * (y - y0) for x, y in points) / squares
        off = max(abs(y - y0 - slope * (x - x0)) for x, y in points)
        print(f"{engine}: CPU ~ contents^{slope:.2f}, no run more than {math.exp(off) - 1:.0%} off")
        for contents in [10**8, 10**9]:
            cpu = math.exp(y0 + slope * (math.log(contents) - x0))
            chance = (contents * SAMPLES) ** 2 / 2 ** (SAMPLE_BITS + 1)
            print(
                f"  {contents:,} contents: {cpu / 3600:,.1f} core-hours, besides what"
                f" {chance:.1g} pairs by chance cost"
            )


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    making = actions.add_parser("make")
    making.add_argument("contents", type=int)
    making.add_argument("tables", type=Path)
    running = actions.add_parser("run")
    running.add_argument("contents", type=int)
    running.add_argument("tables", type=Path)
    running.add_argument("out", type=Path)
    running.add_argument("--engine", required=True)
    running.add_argument("--memory", default="2G")
    running.add_argument("--python", default=sys.executable)
    running.add_argument("--keep", action="store_true", help="the folder of the run")
    running.add_argument("--more", nargs="*", default=[], help="more for resemble_scale.py")
    telling = actions.add_parser("tell")
    for one in [running, telling]:
        one.add_argument("--results", type=Path, default=Path("growth.jsonl"))
    return parser


def main():
    args = arguments().parse_args()
    if args.action == "make":
        make(args.contents, args.tables)
        return 0
    return run(args) if args.action == "run" else tell(args)


if __name__ == "__main__":
    sys.exit(main())
