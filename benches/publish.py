#!/usr/bin/env python3
"""publish.py PROGRAMS KERNEL OTHER DOCS [--only BLOCK,...] [--write docs/benchmarks.md]

Measures the tables of docs/benchmarks.md and prints them as Markdown; --write replaces the text
between the marks of each block in the page. PROGRAMS is a folder with `resemble` and `resembled`,
KERNEL and OTHER are two versions of one source tree, DOCS is a folder of documents. The view needs
root, or a /dev/fuse for all. The blocks:

    scan        a first scan by the daemon, and a restart, beside programs that only read
    trees       `compare` and `covered` of KERNEL and OTHER beside `diff -rq` and `git`
    documents   the same of two equal copies of DOCS
    tree        questions about OTHER alone
    identical   `groups --only identical` of both trees beside programs for that alone
    large       one file of 1 GiB is made and changed
    small       a line is appended to one of many small files
    texts       many small texts in families of eight
    kernels     hashing and chunking in memory, on one core

A command is run three times, and the least counts; a block states any other rule. Seconds are wall
time. CPU is of all threads, including the daemon's; memory is the peak of one process. All files
are in the page cache.
"""

import argparse
import contextlib
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE / "peers"), str(HERE.parent / "scale")]

import daemon as daemons
import made

ROUNDS = 3


def measured(command, environment):
    """Returns seconds, CPU and peak memory in MB of one run, by GNU time, which is small itself."""
    with tempfile.NamedTemporaryFile("r") as told:
        timed = ["/usr/bin/time", "-o", told.name, "-f", "%U %S %M", *map(str, command)]
        began = time.monotonic()
        child = subprocess.run(
            timed,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        seconds = time.monotonic() - began
        # 1 means a difference, or no result.
        if child.returncode not in (0, 1):
            sys.exit(f"{command}: exit {child.returncode}\n{child.stderr.decode(errors='replace')}")
        user, system, memory = map(float, told.read().splitlines()[-1].split())
    return seconds, user + system, memory * 1.024e-3


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines] + [""]


def spread(values, digits=2):
    median, least, most = statistics.median(values), min(values), max(values)
    return f"{median:.{digits}f} ({least:.{digits}f}–{most:.{digits}f})"


class Bench:
    def __init__(self, given, folder):
        self.programs, self.folder = given.programs.resolve(), folder
        self.kernel, self.other, self.docs = (
            path.resolve() for path in (given.kernel, given.other, given.docs)
        )
        self.cache = folder / "cache"
        self.environment = os.environ | {
            "XDG_CACHE_HOME": str(self.cache),
            "RESEMBLE_SOCKET": str(folder / "none"),
        }

    def command(self, *words):
        return [self.programs / "resemble", *words]

    def least(self, command, before=None, rounds=ROUNDS, of=None):
        """Returns the fastest of some runs; the CPU of a daemon that answers is added."""
        runs = []
        for _ in range(rounds):
            if before:
                before()
            cpu = of.cpu() if of else 0
            seconds, own, memory = measured(command, self.environment)
            runs.append((seconds, own + (of.cpu() - cpu if of else 0), memory))
        return min(runs)

    def forget(self):
        shutil.rmtree(self.cache, ignore_errors=True)

    @contextlib.contextmanager
    def daemon(self, *trees, view=None):
        state = Path(tempfile.mkdtemp(dir=self.folder))
        started = daemons.Daemon(self.programs, trees, state, view)
        try:
            yield started
        finally:
            started.end()
            shutil.rmtree(state)

    def warm(self, *trees):
        for tree in trees:
            subprocess.run(["grep", "-rc", "\x01\x02\x03", tree], stdout=subprocess.DEVNULL)


def here(program):
    return shutil.which(program) is not None


def size_of(tree):
    sizes = [
        path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink()
    ]
    return f"{len(sizes):,} files ({sum(sizes) / 1e6:,.0f} MB)"


def beside(rows):
    """Returns rows of (name, (seconds, CPU, MB)), with the ratio to the first."""
    base = rows[0][1][0]
    return table(
        ["", "seconds", "ratio", "CPU, s", "memory"],
        [
            [name, f"{s:.2f}", f"{s / base:.2f}", f"{cpu:.2f}", f"{mb:.0f} MB"]
            for name, (s, cpu, mb) in rows
        ],
    )


def of_two(bench, a, b, peers):
    """`compare` and `covered` beside `diff -rq`."""
    bench.warm(a, b)
    alone = [*bench.command("--local")]
    rows = [("`diff -rq`", bench.least(["diff", "-rq", a, b]))]
    for name, command in peers:
        rows.append((name, bench.least([*command, a, b])))
    rows.append(("`compare`, from nothing", bench.least([*alone, "compare", "--no-cache", a, b])))
    bench.forget()
    rows.append(("… what was read is kept", bench.least([*alone, "compare", a, b], bench.forget)))
    rows.append(("… again", bench.least([*alone, "compare", a, b])))
    rows.append(
        ("`covered`, from nothing", bench.least([*alone, "covered", "--no-cache", a, "--by", b]))
    )
    with bench.daemon(a, b) as running:
        ask = bench.command("--socket", running.socket)
        for verb, words in [("compare", [a, b]), ("covered", [a, "--by", b])]:
            command = [*ask, verb, *words]
            rows.append(
                (f"`{verb}` by the daemon, first", bench.least(command, rounds=1, of=running))
            )
            rows.append(("… again", bench.least(command, of=running)))
    return beside(rows)


def trees(bench):
    git = ["git", "diff", "--no-index", "-M", "-C", "--name-status"]
    yield f"The trees are two versions of one source tree. One has {size_of(bench.kernel)}, the other {size_of(bench.other)}."
    yield ""
    yield from of_two(bench, bench.kernel, bench.other, [("`git diff --no-index -M -C`", git)])


def documents(bench):
    copies = [bench.folder / name for name in "ab"]
    for copy in copies:
        shutil.copytree(bench.docs, copy, ignore_dangling_symlinks=True)
    # The `stat` of a file that changed just before it was read is not trusted.
    time.sleep(40)
    yield f"The trees are two equal copies of documentation. Each has {size_of(copies[0])}."
    yield ""
    yield from of_two(bench, *copies, [])
    for copy in copies:
        shutil.rmtree(copy)


def percentiles(seconds):
    cuts = statistics.quantiles(seconds, n=100)
    return f"{cuts[49] * 1e3:.1f} / {cuts[89] * 1e3:.1f} / {cuts[98] * 1e3:.1f} ms"


def waited(command, environment):
    """Returns the seconds until a command has ended."""
    began = time.monotonic()
    subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    return time.monotonic() - began


def sources(tree, count, seed=1):
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    return random.Random(seed).sample([path for path in files if path.stat().st_size], count)


def tree(bench):
    other = bench.other
    bench.warm(other)
    asked = sources(other, 300)
    some = bench.folder / "c-files"
    some.mkdir()
    for number, path in enumerate(sources_in_c(other)):
        shutil.copyfile(path, some / f"{number}-{path.name}")
    alone = bench.command("--local")
    rows = []
    for name, words in [
        ("groups", [other]),
        ("dirs", [other]),
        ("find ONE --in TREE", [asked[0], "--in", other]),
        ("pairs of 8,000 C files", [some]),
    ]:
        command = [*alone, name.split()[0], "--no-cache", *words]
        verb, rest = name.partition(" of ")[::2]
        told = f"`{verb}` of {rest}" if rest else f"`{name}`"
        rows.append([told, "from nothing", *row(bench.least(command))])
    with bench.daemon(other) as running:
        ask = bench.command("--socket", running.socket)
        for verb in ["groups", "dirs"]:
            rows.append(
                [
                    f"`{verb}`",
                    "daemon, first",
                    *row(bench.least([*ask, verb, other], rounds=1, of=running)),
                ]
            )
            rows.append(
                [f"`{verb}`", "daemon, again", *row(bench.least([*ask, verb, other], of=running))]
            )
    yield f"The source tree has {size_of(other)}. The daemon scanned it before the first question."
    yield ""
    yield from table(["", "", "seconds", "CPU, s", "memory of the command"], rows)
    view = bench.folder / "view"
    view.mkdir()
    rows = []
    with bench.daemon(other, view=view) as running:
        ask = bench.command("--socket", running.socket)
        for name in ["first", "again"]:
            runs = [waited([*ask, "find", path], bench.environment) for path in asked]
            rows.append(["`find FILE`, the whole command", name, percentiles(runs)])
    with bench.daemon(other, view=view) as running:
        for name in ["first", "again"]:
            runs = []
            for path in asked:
                began = time.monotonic()
                os.listdir(view / path.relative_to(other) / ".similar")
                runs.append(time.monotonic() - began)
            rows.append(["listing of `FILE/.similar`", name, percentiles(runs)])
    yield f"The next table is about {len(asked)} questions, each about one file. It has the median, the 90th and the 99th percentile of their times."
    yield ""
    yield from table(["", "", "time"], rows)
    shutil.rmtree(some)


def sources_in_c(top):
    files = sorted(path for path in top.rglob("*.c") if not path.is_symlink())
    return random.Random(8).sample(files, min(8_000, len(files)))


def row(run):
    seconds, cpu, memory = run
    return [f"{seconds:.2f}", f"{cpu:.2f}", f"{memory:.0f} MB"]


def identical(bench):
    both = [bench.kernel, bench.other]
    bench.warm(*both)
    rows = [("`find -type f -size +0`", bench.least(["find", *both, "-type", "f", "-size", "+0"]))]
    groups = ["groups", "--only", "identical", "--format", "fdupes"]
    rows.append(
        (
            "`groups`, from nothing",
            bench.least([*bench.command("--local"), *groups, "--no-cache", *both]),
        )
    )
    for program in ["jdupes", "fdupes"]:
        if here(program):
            rows.append((f"`{program} -r -q`", bench.least([program, "-r", "-q", *both])))
    yield from beside(rows)


def scan(bench):
    runs = 5
    bench.warm(bench.other)
    read = daemons.scan({"now": bench.programs}, bench.other, runs, bench.folder)
    again = daemons.restart({"now": bench.programs}, bench.other, 3 * runs, bench.folder)
    cat = statistics.median(read["xargs -P2 cat"])
    walk = statistics.median(again["find -size"])
    rows = [
        [
            f"`{name}`",
            spread(read[name]),
            f"{statistics.median(read[name]) / cat:.2f} × `cat`",
            "",
            "",
        ]
        for name in ["find -size", "xargs -P2 cat", "xargs -P2 md5sum"]
    ]
    if here("ssdeep"):
        seconds, cpu, memory = bench.least(["ssdeep", "-r", bench.other], rounds=1)
        rows.append(
            [
                "`ssdeep -r`, signatures alone",
                f"{seconds:.2f}",
                f"{seconds / cat:.2f} ×",
                f"{cpu:.1f}",
                f"{memory:.0f} MB",
            ]
        )
    first = statistics.median(read["now: first scan, s"])
    rows.append(
        [
            "**first scan to `sync`**",
            spread(read["now: first scan, s"]),
            f"**{first / cat:.1f} ×**",
            spread(read["now: first scan, CPU s"]),
            f"{statistics.median(read['now: first scan, MB']):.0f} MB",
        ]
    )
    start = statistics.median(again["now: restart"])
    rows.append(
        [
            "**restart to `sync`, nothing changed**",
            spread(again["now: restart"]),
            f"**{start / walk:.2f} × `find -size`**",
            spread(again["now: restart, CPU"]),
            "",
        ]
    )
    content = size_of(bench.other)
    yield f"The tree has {content}. Figures are medians and ranges of {runs} scans and {3 * runs} restarts."
    yield ""
    yield from table(["", "seconds", "ratio", "CPU, s", "memory"], rows)
    index = statistics.median(read["now: index, MB"])
    yield f"The index takes {index:.1f} MB on disk after the daemon has ended."
    yield ""


def large(bench):
    figures = daemons.large({"now": bench.programs}, bench.other, 3, bench.folder)
    rows = [[name.removeprefix("now: "), spread(values)] for name, values in figures.items()]
    yield "The folder holds one text of 1 GiB. Figures are medians and ranges of three runs."
    yield ""
    yield from table(["", ""], rows)


def small(bench):
    copy = bench.folder / "small"
    made.families(copy, 100_000)
    (told,) = daemons.small({"now": bench.programs}, copy, 25, bench.folder)
    yield "Every two seconds a line is appended to a different one of 100,000 small texts. A change takes"
    yield f"{told.removeprefix('now: a small change: ')}."
    yield ""
    shutil.rmtree(copy)


def texts(bench):
    rows = []
    for count in [10_000, 100_000]:
        folder = made.families(bench.folder / f"texts-{count}", count)
        bench.warm(folder)
        state = Path(tempfile.mkdtemp(dir=bench.folder))
        running = daemons.Daemon(bench.programs, [folder], state)
        scanned, cpu, peak = running.seconds, running.cpu(), running.peak()
        ask = bench.command("--socket", running.socket)
        groups = [
            bench.least([*ask, "groups", "--format", "json", folder], rounds=1, of=running)
            for _ in "12"
        ]
        top = running.peak()
        running.end()
        index = daemons.index_bytes(state)
        again = daemons.Daemon(bench.programs, [folder], state)
        restart = again.seconds
        again.end()
        shutil.rmtree(state)
        shutil.rmtree(folder)
        first, second = (f"{cpu / count * 1e6:.0f} µs" for _, cpu, _ in groups)
        rows.append(
            [
                f"{count:,}",
                f"{scanned:.1f} s",
                f"{cpu / count * 1e6:.0f} µs",
                f"{peak:.0f} MB",
                f"{index / count:.0f} B",
                f"{restart:.2f} s",
                first,
                second,
                f"{top:.0f} MB",
            ]
        )
    yield "Each text has some 150 words. A family has eight texts, each of which is an edit of the one before."
    yield ""
    yield from table(
        [
            "texts",
            "first scan",
            "CPU a text",
            "memory",
            "index, a text",
            "restart",
            "`groups` first, CPU a text",
            "again",
            "memory with it",
        ],
        rows,
    )


def kernels(bench):
    for name in ["hash", "chunk"]:
        out = subprocess.run(
            ["cargo", "bench", "-q", "-j2", "-p", "resemble-benches", "--bench", name],
            check=True,
            capture_output=True,
            text=True,
            cwd=HERE.parent,
        ).stdout
        yield f"`cargo bench -p resemble-benches --bench {name}`:"
        yield ""
        yield from ["```", *out.strip().splitlines(), "```", ""]


BLOCKS = [scan, trees, documents, tree, identical, large, small, texts, kernels]


def machine():
    cpu = next(
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return (
        f"Measured on {date.today().isoformat()}: {os.cpu_count()} cores of {cpu}, {memory} GiB, Linux "
        f"{platform.release().split('-')[0]}; the load at the start was {os.getloadavg()[0]:.1f}."
    )


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in ["programs", "kernel", "other", "docs"]:
        arguments.add_argument(name, type=Path)
    arguments.add_argument("--only", default=",".join(block.__name__ for block in BLOCKS))
    arguments.add_argument("--write", type=Path)
    given = arguments.parse_args()
    blocks = {block.__name__: block for block in BLOCKS}
    # Beside the tree, because another file system may have another page cache.
    with tempfile.TemporaryDirectory(dir=given.other.resolve().parent, prefix=".bench-") as folder:
        for name in given.only.split(","):
            told = f"{machine()}\n\n" + "\n".join(blocks[name](Bench(given, Path(folder))))
            print(f"-- {name}\n\n{told}", flush=True)
            if given.write:
                page = given.write.read_text()
                before, rest = page.split(f"<!-- {name} -->\n")
                _, after = rest.split(f"<!-- end of {name} -->", 1)
                given.write.write_text(
                    f"{before}<!-- {name} -->\n{told}<!-- end of {name} -->{after}"
                )


if __name__ == "__main__":
    main()
