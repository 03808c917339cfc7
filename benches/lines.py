#!/usr/bin/env python3
"""Counts the product's lines of Rust by crate, without tests, comments and blank lines.

    benches/lines.py             prints lines, difference to benches/lines.tsv, crate
    UPDATE=1 benches/lines.py    records anew

A difference is no failure.
"""

import collections
import os
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent
TABLE = TOP / "benches/lines.tsv"
TEST = re.compile(
    r"^(tests|benches|crates/testutil)/|/(tests|it|benches|examples)/|testing|[_/]tests\.rs$"
)
TOTAL = "linked by daemon and command"


def product_lines(text):
    """Lines of code outside of items under `#[cfg(test)]`."""
    count, item = 0, None
    for line in filter(None, map(str.strip, text.splitlines())):
        if item is not None:
            item += line
            depth = item.count("{") - item.count("}")
            if depth <= 0 if "{" in item else ";" in line:
                item = None
        elif line.startswith("#[cfg(test)]"):
            item = ""
        elif not line.startswith("//"):
            count += 1
    return count


def by_crate():
    """The lines of each crate, largest first, then those of all crates outside the laboratory."""
    counts = collections.Counter()
    sources = subprocess.check_output(["git", "ls-files", "*.rs"], cwd=TOP, text=True)
    for path in sources.splitlines():
        if not TEST.search(path):
            parts = path.split("/")
            crate = "/".join(parts[: 2 if parts[0] in ("crates", "lab") else 1])
            counts[crate] += product_lines((TOP / path).read_text(encoding="utf8"))
    total = sum(lines for crate, lines in counts.items() if not crate.startswith("lab/"))
    return dict(counts.most_common()) | {TOTAL: total}


now = by_crate()
if os.environ.get("UPDATE"):
    TABLE.write_text("".join(f"{crate}\t{lines}\n" for crate, lines in now.items()))
else:
    then = dict(line.split("\t") for line in TABLE.read_text().splitlines())
    for crate, lines in (dict.fromkeys(then.keys() - now.keys(), 0) | now).items():
        print(f"{lines:7} {lines - int(then.get(crate, 0)):+6} {crate}")
