#!/usr/bin/env python3
"""Finds 1,000 moved, renamed and edited files in two trees of 5,000: results and times of programs.

    moves.py DIR [RESEMBLE]

makes DIR/a and DIR/b (8 KB each file, words drawn from one vocabulary by a fixed seed). 4,000 files
stay as they are; 1,000 have another name in another folder, and three of their forty paragraphs are
rewritten. Prints a Markdown table: the least seconds of three runs, the memory, and how many of the
1,000 each program names as a pair. Programs that are not installed are left out.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

FILES, MOVED, RUNS = 5000, 1000, 3
random.seed(5000)
VOCABULARY = ["".join(random.choice("bcdfghklmnprst") + random.choice("aeiou") for _ in range(random.randint(1, 4)))
              for _ in range(5000)]


def paragraph():
    return "\n".join(" ".join(random.choice(VOCABULARY) for _ in range(9)) for _ in range(4)) + "\n\n"


def write(path, paragraphs):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write("".join(paragraphs))


def make(top):
    """Writes both trees and returns the moves, as a set of (path in a, path in b)."""
    moves = set()
    for number in range(FILES):
        paragraphs = [paragraph() for _ in range(40)]
        old = f"d{number % 50:02}/f{number:04}.txt"
        write(f"{top}/a/{old}", paragraphs)
        if number % (FILES // MOVED):
            write(f"{top}/b/{old}", paragraphs)
            continue
        for at in random.sample(range(40), 3):
            paragraphs[at] = paragraph()
        new = f"e{number // 5 % 30:02}/g{random.randrange(10**9):09}.txt"
        write(f"{top}/b/{new}", paragraphs)
        moves.add((old, new))
    return moves


def timed(top, command, before=lambda: None, stdin=""):
    """Returns (least seconds, its memory in MB, output) of the runs of a command in `top`."""
    best = None
    for _ in range(RUNS):
        before()
        with tempfile.NamedTemporaryFile() as figures:
            ran = subprocess.run(["/usr/bin/time", "-o", figures.name, "-f", "%e %M", *command], cwd=top, check=False,
                                 input=stdin, capture_output=True, text=True)
            seconds, memory = figures.read().decode().split("\n")[-2].split()
        if best is None or float(seconds) < best[0]:
            best = float(seconds), int(memory) / 1024, ran.stdout
    return best


def relative(path):
    return path.split("/", 1)[1]


def of_git(out):
    for line in out.splitlines():
        status, *paths = line.split("\t")
        if status[0] in "RC":
            yield tuple(map(relative, paths))


def of_sim(out):
    for new, old in re.findall(r"^(\S+) consists for \d+ % of (\S+) material", out, re.MULTILINE):
        yield tuple(relative(path) for path in sorted((new, old)))


def of_ssdeep(out):
    for one, other in re.findall(r"^(\S+) matches (\S+) \(", out, re.MULTILINE):
        yield tuple(relative(re.sub(r"^\./", "", path)) for path in sorted((one, other)))


def of_resemble(out):
    for entry in json.loads(out)["entries"]:
        if entry["class"] == "moved-edited":
            yield entry["a"], entry["b"]


def main():
    top, binary = sys.argv[1], os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else "target/release/resemble")
    shutil.rmtree(top, ignore_errors=True)
    moves = make(top)
    cache = tempfile.mkdtemp()
    os.environ["XDG_CACHE_HOME"] = cache
    files = "".join(f"{tree}/{os.path.relpath(os.path.join(at, name), f'{top}/{tree}')}\n" for tree in "ab"
                    for at, _, names in sorted(os.walk(f"{top}/{tree}")) for name in sorted(names))
    old_new = files.replace("b/", "/\nb/", 1)
    compare = [binary, "--local", "compare", "--format", "json"]
    rows = [
        ("sim_text -p -s", ["sim_text", "-p", "-s", "-i"], of_sim, {"stdin": files}),
        ("sim_text -p -S, b as new, a as old", ["sim_text", "-p", "-S", "-i"], of_sim, {"stdin": old_new}),
        ("git diff -M -C", ["git", "diff", "--no-index", "-M", "-C", "--name-status", "a", "b"], of_git, {}),
        ("git diff -M -C, no rename limit",
         ["git", "-c", "diff.renameLimit=0", "diff", "--no-index", "-M", "-C", "--name-status", "a", "b"], of_git, {}),
        ("ssdeep -l -r -d", ["ssdeep", "-l", "-r", "-d", "a", "b"], of_ssdeep, {}),
        ("resemble compare, from nothing", [*compare, "a", "b"], of_resemble,
         {"before": lambda: shutil.rmtree(cache, ignore_errors=True)}),
        ("resemble compare, warm", [*compare, "a", "b"], of_resemble, {}),
    ]
    print("| command | seconds | memory | of the 1,000 | other pairs |\n|---|---|---|---|---|")
    for name, command, pairs, more in rows:
        if shutil.which(command[0]) is None:
            continue
        seconds, memory, out = timed(top, command, **more)
        found = set(pairs(out))
        wrong = {pair for pair in found - moves if pair[0] != pair[1]}
        print(f"| {name} | {seconds:.2f} | {memory:.0f} MB | {len(found & moves)} | {len(wrong)} |", flush=True)
    shutil.rmtree(cache, ignore_errors=True)


main()
