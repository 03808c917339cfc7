#!/usr/bin/env python3
"""speed.py DOCS [KERNEL] [--bin DIR]: the tables of seconds of docs/peers.md, measured in one run.

DOCS is a folder of documents, KERNEL a larger tree for duplicates alone. A home is made of two
copies of DOCS, the second with edits, moves and deletions. Each program does each task in turn,
three times, with the files in the page cache. It prints the median seconds, the processor seconds
(with those of the daemon if it answers) and the peak memory of the started program. A missing
program is named as such. Needs GNU time.
"""

import argparse
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile

ROUNDS = 3
LIMIT = 220
TEXTS = {".txt", ".html", ".rst", ".md"}
TICK = os.sysconf("SC_CLK_TCK")


def make_home(docs, home):
    """Makes B, a copy of A in which 300 files have another line, 200 were moved and 50 removed.

    Returns a text that has the line.
    """
    for name in "AB":
        shutil.copytree(docs, home / name, symlinks=True)
    texts = sorted(p for p in (home / "B").rglob("*") if p.is_file() and not p.is_symlink())
    chosen = random.Random(18).sample(texts, 550)
    for path in chosen[:300]:
        with open(path, "a") as file:
            file.write("one line more than there was\n")
    for number, path in enumerate(chosen[300:500]):
        path.rename(path.with_name(f"moved-{number}-{path.name}"))
    for path in chosen[500:]:
        path.unlink()
    return next(path for path in chosen[:300] if path.suffix in TEXTS)


class Daemon:
    """A daemon that watches one folder, in the given environment."""

    def __init__(self, binaries, root, environment):
        self.resemble = binaries / "resemble"
        self.environment = environment
        self.process = subprocess.Popen(
            [binaries / "resembled", "--no-mount", root],
            env=environment,
            stderr=subprocess.DEVNULL,
        )
        sync = [self.resemble, "sync"]
        while subprocess.run(sync, env=environment, capture_output=True).returncode:
            pass

    def processor(self):
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def end(self):
        self.process.terminate()
        self.process.wait()


def run(command, environment, daemon=None):
    """Returns wall and processor seconds, MB and output lines of a shell command."""
    before = daemon.processor() if daemon else 0
    with tempfile.NamedTemporaryFile("r") as told, tempfile.TemporaryFile() as out:
        timed = ["time", "-o", told.name, "-f", "%e %U %S %M", "timeout", str(LIMIT)]
        subprocess.run(
            [*timed, "sh", "-c", command], env=environment, stdout=out, stderr=subprocess.DEVNULL
        )
        seconds, user, system, kilobytes = map(float, told.read().splitlines()[-1].split())
        out.seek(0)
        lines = sum(1 for _ in out)
    processor = user + system + (daemon.processor() - before if daemon else 0)
    return seconds, processor, kilobytes / 1000, lines


def table(title, rows, environment, daemon):
    """Rows are (name, shell command, whether the daemon answers)."""
    print(f"\n## {title}\n\n| command | seconds | processor | MB | lines |", flush=True)
    print("|---|---|---|---|---|")
    there = [row for row in rows if shutil.which(row[0].split()[0], path=environment["PATH"])]
    results = {row[0]: [] for row in there}
    for _ in range(ROUNDS):
        for shown, command, asks in there:
            # A program that exceeded the limit once would do so again.
            if not results[shown] or results[shown][0][0] < LIMIT:
                results[shown].append(run(command, environment, daemon if asks else None))
    for shown, _, asks in rows:
        if shown not in results:
            print(f"| `{shown}` | not installed | | | |")
            continue
        columns = list(zip(*results[shown]))
        seconds, processor, memory, lines = map(statistics.median, columns)
        spread = f"{min(columns[0]):.2f}–{max(columns[0]):.2f}"
        stopped = ", stopped" if seconds >= LIMIT else ""
        with_daemon = ", with a daemon" if asks else ""
        print(
            f"| `{shown}`{with_daemon} | {seconds:.2f} ({spread}){stopped} | {processor:.2f} "
            f"| {memory:.0f} | {lines:.0f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("docs", type=pathlib.Path)
    parser.add_argument("kernel", type=pathlib.Path, nargs="?")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("target/release"))
    options = parser.parse_args()
    binaries = options.bin.resolve()
    kernel = options.kernel and options.kernel.resolve()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        home = work / "home"
        home.mkdir()
        edited = make_home(options.docs, home)
        environment = {
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "HOME": str(work / "self"),
            "LANG": "C.UTF-8",
        }
        (work / "self").mkdir()
        os.chdir(work)
        files = sum(len(names) for _, _, names in os.walk(home))
        print(f"load {os.getloadavg()[0]:.1f}; {files} files in home")
        fresh = "resemble --local"
        # Neither an index nor stored digests: as on the first day.
        first = "rm -rf self/.cache; "
        daemon = Daemon(binaries, home, environment | {"XDG_STATE_HOME": str(work / "state")})
        asked = environment | {"XDG_STATE_HOME": str(work / "state")}

        def show(title, *peers, ours):
            rows = [(peer, peer, False) for peer in peers]
            rows.append((f"{fresh} {ours}", f"{first}{fresh} {ours}", False))
            rows.append((f"resemble {ours}", f"resemble {ours}", True))
            table(title, rows, asked, daemon)

        show(
            "Files that are there twice",
            "jdupes -rq home",
            "fdupes -rq home",
            "fclones group home",
            "rmlint home -T df -o summary:stdout",
            "czkawka_cli dup -m 1 -d home",
            ours="groups --only identical --format fdupes home",
        )
        show(
            "What became of a tree",
            "diff -rq home/A home/B",
            "git diff --no-index --stat --find-renames home/A home/B",
            ours="compare home/A home/B",
        )
        show(
            "May a folder go?",
            "diff -rq home/B home/A",
            "rmlint home -T dd -o summary:stdout",
            ours="covered home/B --by home/A",
        )
        file = edited.relative_to(work)
        show(
            "Files like one",
            f"ssdeep -b {file} > h; ssdeep -s -r -m h home",
            ours=f"find {file} --in home",
        )
        show("All clusters of similar files", "ssdeep -s -l -r -d home", ours="groups --all home")
        show("Similar folders", "rmlint home -T dd -o summary:stdout", ours="dirs home")
        daemon.end()
        if kernel:
            asked["XDG_STATE_HOME"] = str(work / "state-of-kernel")
            daemon = Daemon(binaries, kernel, asked)
            show(
                "Files that are there twice in a large tree",
                f"jdupes -rq {kernel}",
                f"fdupes -rq {kernel}",
                f"fclones group --no-ignore {kernel}",
                f"czkawka_cli dup -m 1 -d {kernel}",
                ours=f"groups --only identical --format fdupes {kernel}",
            )
            daemon.end()


if __name__ == "__main__":
    main()
