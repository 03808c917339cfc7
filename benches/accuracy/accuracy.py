#!/usr/bin/env python3
"""How right the answers are: the tasks of docs/accuracy.md, resemble beside its peers.

    accuracy.py TOOLS CORPORA [--resemble BIN] [--peers ssdeep,minhash,...] [--write docs/accuracy.md]
    accuracy.py TOOLS CORPORA --verbs [--resemble BIN] [--only T9-1,T13-1] [--write docs/accuracy.md]

TOOLS has the scoring programs (score.py, detect.py, run_peers.py), CORPORA the folders T1, T2, T4, T6-*, T8, each with
files/ and truth.tsv; a missing one is left out and said so. Peers' pairs are kept in CORPORA/pairs, with the
seconds they took, and not made again. Prints Markdown; --write replaces what stands between the two marks of a page.

--verbs asks find, .similar, groups, compare, pairs and alerts about every corpus T* of CORPORA instead, and prints a table
for each. The daemon beside BIN must be able to mount. The makers of the corpora T9 to T14 are the programs make_*.py
beside this one; each says what it makes, from any seed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

MARKS = ("<!-- figures -->", "<!-- end of figures -->")
VERB_MARKS = ("<!-- figures of every verb -->", "<!-- end of the figures of every verb -->")


def run(command, **more):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True,
                          errors="surrogateescape", **more).stdout


class Harness:
    def __init__(self, options):
        self.tools, self.corpora = Path(options.tools).resolve(), Path(options.corpora).resolve()
        self.binary = Path(options.resemble).resolve()
        self.kept = self.corpora / "pairs"
        self.kept.mkdir(exist_ok=True)

    def resemble(self, top, *options, dirs=(".",)):
        """(pairs file, seconds) of one run from nothing: path, path, score, and the other figures of each pair."""
        with tempfile.TemporaryDirectory() as cache:
            begin = time.monotonic()
            out = subprocess.run([self.binary, "--local", "pairs", *dirs, "--format", "tsv", *options], cwd=top, text=True,
                                 capture_output=True, errors="surrogateescape",
                                 env=dict(os.environ, XDG_CACHE_HOME=cache), check=False).stdout
            seconds = time.monotonic() - begin
        path = self.kept / "resemble.tsv"
        with open(path, "w", errors="surrogateescape") as file:
            for line in out.splitlines():
                fields = line.split("\t")
                fields[:2] = [os.path.normpath(name) for name in fields[:2]]
                file.write("\t".join(fields) + "\n")
        return path, seconds

    def peer(self, name, top):
        path = self.kept / f"{name}-{top.parent.name}.tsv"
        took = path.with_suffix(".seconds")
        if not path.exists():
            begin = time.monotonic()
            out = run([sys.executable, self.tools / "run_peers.py", name, top], cwd=self.tools)
            took.write_text(f"{time.monotonic() - begin:.1f}")
            path.write_text(out, errors="surrogateescape")
        return path, float(took.read_text())

    def score(self, task, pairs, *options, without=frozenset()):
        """What score.py says of these pairs, without those of some files."""
        tables = [self.corpora / task / "truth.tsv", pairs]
        with tempfile.TemporaryDirectory() as folder:
            if without:
                tables = [left(table, without, Path(folder, table.name)) for table in tables]
            return run([sys.executable, self.tools / "score.py", *tables, *options], cwd=self.tools)

    def detect(self, task, pairs):
        return run([sys.executable, self.tools / "detect.py", self.corpora / task, f"x={pairs}"], cwd=self.tools)


def lines(path):
    with open(path, errors="surrogateescape") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def left(table, without, path):
    """Writes the rows of a table of pairs in which none of these files is."""
    with open(path, "w", errors="surrogateescape") as file:
        file.writelines("\t".join(row) + "\n" for row in lines(table) if not without & set(row[:2]))
    return path


def truth_of(harness, task):
    head, *rows = lines(harness.corpora / task / "truth.tsv")
    return {tuple(sorted(row[:2])): dict(zip(head, row)) for row in rows}


def by_columns(path, column):
    return {tuple(sorted(row[:2])): float(row[column] or 0) for row in lines(path)}


def figure(pattern, text):
    found = re.search(pattern, text)
    return found[1] if found else "?"


def edit_curves(harness, _peers):
    """Each pair is a document and a copy with i inserted words. A pair is found if it is shown with a resemblance of 70 % or more."""
    truth = truth_of(harness, "T1")
    top = harness.corpora / "T1" / "files"
    yield "| i | found of 100 (exact) | false pairs | MAE of resemblance | with `--exact` |"
    yield "|---|---|---|---|---|"
    for number in (1, 5, 10, 20, 50):
        cells = []
        for options in ((), ("--exact",)):
            path, _ = harness.resemble(top, "--score", "resemblance", *options, dirs=("RC", f"RC_a/i{number:02}"))
            scores = by_columns(path, 2)
            own = [score for pair, score in scores.items() if pair in truth and score >= 0.7]
            false = sum(score >= 0.7 for pair, score in scores.items() if pair not in truth)
            errors = [abs(score - float(truth[pair]["res_w5"])) for pair, score in scores.items() if pair in truth]
            cells.append((len(own), false, sum(errors) / max(1, len(errors))))
        (found, false, error), (exact, _, no_error) = cells
        yield f"| {number} | {found} ({exact}) | {false} | {error:.4f} | {no_error:.4f} |"


def mutations(harness, peers):
    """The table has the recall for each kind of change, at a threshold with at most one false pair."""
    truth = truth_of(harness, "T2")
    top = harness.corpora / "T2" / "files"
    runs = {"resemble": harness.resemble(top, "--all")}
    tables = {"resemble": harness.detect("T2", runs["resemble"][0])}
    scores = by_columns(runs["resemble"][0], 2)
    runs["resemble --exact"] = harness.resemble(top, "--all", "--exact")
    tables["resemble --exact"] = harness.detect("T2", runs["resemble --exact"][0])
    for peer in peers:
        runs[peer] = harness.peer(peer, top)
        tables[peer] = harness.detect("T2", runs[peer][0])
    kinds = [line.split("\t")[0] for line in tables["resemble"].splitlines() if line.count("\t") == 2][1:]
    yield "| kind | " + " | ".join(tables) + " |"
    yield "|---" * (len(tables) + 1) + "|"
    for kind in kinds:
        cells = [figure(rf"(?m)^{kind}\t\d+\t([\d.]+)", table) for table in tables.values()]
        yield f"| {kind} | " + " | ".join(cells) + " |"
    yield "| seconds | " + " | ".join(f"{seconds:.1f}" for _, seconds in runs.values()) + " |"
    errors = [abs(score - max(float(truth[pair]["long_ab"]), float(truth[pair]["long_ba"])))
              for pair, score in scores.items() if pair in truth and truth[pair]["kind"] not in ("case", "space", "html")]
    yield ""
    yield f"The mean error of the score is {sum(errors) / len(errors):.4f} over the found pairs of all kinds but case, space and html."


MARKUP = re.compile(rb"(?i)</[a-z]|<br|<p>|<html|&[a-z]+;")


def natural(task):
    """A pair of these natural texts is related if its resemblance is at least one half. The program that computes the exact
    resemblance counts tags as words, so files with tags are left out."""
    def table(harness, peers):
        top = harness.corpora / task / "files"
        files = [path for path in top.rglob("*") if path.is_file()]
        without = {str(path.relative_to(top)) for path in files if MARKUP.search(path.read_bytes())}
        yield f"{len(files) - len(without):,} of {len(files):,} files are compared:"
        yield ""
        yield "| | average precision | best F1 | precision and recall at .5 | MAE | seconds |"
        yield "|---|---|---|---|---|---|"
        runs = [("resemble", harness.resemble, ("--all",)), ("resemble --exact", harness.resemble, ("--all", "--exact"))]
        runs += [(peer, None, ()) for peer in peers]
        for name, ours, options in runs:
            path, seconds = ours(top, "--score", "resemblance", *options) if ours else harness.peer(name, top)
            said = harness.score(task, path, "--files", len(files) - len(without), "--positive", "res_w5>=0.5",
                                 "--ignore", "res_w5>=0.4", "--at", "0.5", without=without)
            at = re.search(r"(?m)^0\.5\t\d+\t\d+\t\d+\t([\d.]+)\t([\d.]+)", said)
            shown = f"{at[1]} / {at[2]}" if at else "?"
            precision, best, error = (figure(what + r" ([\d.]+)", said) for what in ("average precision", "best F1", "MAE"))
            yield f"| {name} | {precision} | {best} | {shown} | {error} | {seconds:.1f} |"
    table.__doc__ = natural.__doc__
    return table


def versions(harness, peers):
    """The task is to find the other version of each page, among pages that share one template."""
    yield "| | average precision, Django | seconds | guide | seconds |"
    yield "|---|---|---|---|---|"
    for name in ["resemble", "resemble --exact", *peers]:
        cells = []
        for task in ("T6-django", "T6-guide"):
            top = harness.corpora / task / "files"
            if name.startswith("resemble"):
                path, seconds = harness.resemble(top, *name.split()[1:])
            else:
                path, seconds = harness.peer(name, top)
            said = harness.score(task, path, "--families", harness.corpora / task / "families.tsv")
            cells += [figure(r"average precision ([\d.]+)", said), f"{seconds:.1f}"]
        yield f"| {name} | " + " | ".join(cells) + " |"


TASKS = [
    ("Edit curves (T1)", "T1", edit_curves),
    ("Nineteen kinds of change (T2)", "T2", mutations),
    ("Licence texts (T4)", "T4", natural("T4")),
    ("Versions of pages with one template (T6)", "T6-django", versions),
    ("Mails (T8)", "T8", natural("T8")),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools")
    parser.add_argument("corpora")
    parser.add_argument("--resemble", default="target/release/resemble")
    parser.add_argument("--peers", default="")
    parser.add_argument("--write")
    parser.add_argument("--only", help="a task, as the folder is called")
    parser.add_argument("--verbs", action="store_true", help="a table over every verb for each corpus")
    parser.add_argument("--asked", type=int, default=1600, help="with --verbs: files of a corpus at most that are asked about")
    options = parser.parse_args()
    if options.verbs:
        import verbs
        end(options, VERB_MARKS, "\n".join(verbs.report(options.tools, options.corpora, options.resemble, options.only, options.asked)))
        return
    harness = Harness(options)
    peers = [peer for peer in options.peers.split(",") if peer]
    out = []
    for title, folder, task in TASKS:
        if options.only and options.only != folder:
            continue
        out += [f"### {title}", ""]
        if (harness.corpora / folder / "truth.tsv").exists():
            out += [textwrap.fill(" ".join(task.__doc__.split()), 100), "", *task(harness, peers), ""]
        else:
            out += ["Not measured: the corpus is not there.", ""]
        print("\n".join(out[-40:]) if not options.write else title, file=sys.stderr, flush=True)
    end(options, MARKS, "\n".join(out))


def end(options, marks, text):
    if not options.write:
        print(text)
        return
    page = Path(options.write)
    before, rest = page.read_text().split(marks[0])
    _, after = rest.split(marks[1])
    page.write_text(f"{before}{marks[0]}\n\n{text}\n{marks[1]}{after}")


main()
