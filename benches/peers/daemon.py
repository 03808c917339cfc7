#!/usr/bin/env python3
"""Times `resembled` on a tree, in turn with programs that only read it.

    daemon.py PROGRAMS TREE [--runs N] [--rows scan,restart,small,large,groups] [--against PROGRAMS]

PROGRAMS is a folder with `resemble` and `resembled`. `--against` names that of another build, which
is measured in turn for every row. Each daemon has a state folder of its own and no mount. Seconds
are wall time, CPU is that of all threads of the daemon. The rows:

    scan      first scan to `sync`, beside `cat`, `md5sum` and `find -size`; closing
    restart   start to `sync` when nothing changed, beside `find -size`
    small     a line appended to one small file every two seconds, with all resulting work; of two
              builds the one named first took .3 to 1.0 ms more in three runs, in either order
    large     one file of 1 GiB: a byte appended, `sync` after it, 16 bytes in the middle, 1 KiB at
              the front, beside one `md5sum` of it; made beside TREE and removed
    groups    `resemble groups` of the tree, the second of two
"""

import argparse
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def cpu_of(pid):
    """Returns the CPU seconds of all present and former threads: clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


def field_of(pid, file, name):
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1])
    return 0


class Daemon:
    """A running `resembled` with a state of its own; `state` may be an existing one."""

    def __init__(self, programs, trees, state, view=None):
        self.programs, self.state = Path(programs), state
        self.socket = state / "socket"
        began = time.monotonic()
        self.process = subprocess.Popen(
            [
                self.programs / "resembled",
                "--quiet",
                "--state",
                state,
                "--socket",
                self.socket,
                *(["--mount", view] if view else ["--no-mount"]),
                *trees,
            ],
            stdin=subprocess.DEVNULL,
        )
        while not self.socket.exists():
            time.sleep(0.002)
        self.ask("sync")
        self.seconds = time.monotonic() - began
        self.pid = self.process.pid

    def ask(self, *words):
        command = [self.programs / "resemble", "--socket", self.socket, *words]
        asked = subprocess.run(command, capture_output=True)
        if asked.returncode > 1:
            sys.exit(asked.stderr.decode())
        return asked.stdout

    def cpu(self):
        return cpu_of(self.pid)

    def peak(self):
        return field_of(self.pid, "status", "VmHWM") / 1e3 * 1.024

    def written(self):
        return field_of(self.pid, "io", "write_bytes")

    def read(self):
        return field_of(self.pid, "io", "rchar")

    def end(self):
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        # A remaining socket would be taken for a ready daemon.
        self.socket.unlink(missing_ok=True)
        return time.monotonic() - began


def index_bytes(state):
    """Returns the bytes on disk of the files of a state."""
    return sum(path.stat().st_blocks * 512 for path in state.rglob("*") if path.is_file())


def timed(command):
    began = time.monotonic()
    subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def told(name, values, unit="s"):
    median, least, most = statistics.median(values), min(values), max(values)
    print(f"{name:52} {median:9.3f} {unit} ({least:.3f} to {most:.3f}, {len(values)})", flush=True)


def scan(builds, tree, runs, folder):
    peers = {
        "find -size": f"find '{tree}' -type f -size +0",
        "xargs -P2 cat": f"find '{tree}' -type f -print0 | xargs -0 -P2 -n 500 cat",
        "xargs -P2 md5sum": f"find '{tree}' -type f -print0 | xargs -0 -P2 -n 500 md5sum",
    }
    figures = {name: [] for name in peers}
    for run in range(runs):
        for name, command in peers.items():
            figures[name].append(timed(command))
        for build, programs in builds.items():
            state = folder / f"scan-{build}-{run}"
            state.mkdir()
            daemon = Daemon(programs, [tree], state)
            for what, value in [
                ("s", daemon.seconds),
                ("CPU s", daemon.cpu()),
                ("MB", daemon.peak()),
            ]:
                figures.setdefault(f"{build}: first scan, {what}", []).append(value)
            figures.setdefault(f"{build}: closing", []).append(daemon.end())
            figures.setdefault(f"{build}: index, MB", []).append(index_bytes(state) / 1e6)
            shutil.rmtree(state)
    return figures


def restart(builds, tree, runs, folder):
    states = {}
    for build, programs in builds.items():
        states[build] = folder / f"restart-{build}"
        states[build].mkdir()
        Daemon(programs, [tree], states[build]).end()
    figures = {}
    for _ in range(runs):
        walk = timed(f"find '{tree}' -type f -size +0")
        figures.setdefault("find -size", []).append(walk)
        for build, programs in builds.items():
            daemon = Daemon(programs, [tree], states[build])
            figures.setdefault(f"{build}: restart", []).append(daemon.seconds)
            figures.setdefault(f"{build}: restart, CPU", []).append(daemon.cpu())
            daemon.end()
    return figures


def small(builds, tree, runs, folder):
    files = [path for path in Path(tree).rglob("*") if path.is_file()]
    random.Random(1).shuffle(files)
    files = [path for path in files if 1000 < path.stat().st_size < 20_000][:runs]
    before = {path: path.read_bytes() for path in files}
    figures = {}
    daemons = {}
    for build, programs in builds.items():
        state = folder / f"small-{build}"
        state.mkdir()
        daemons[build] = Daemon(programs, [tree], state)
    time.sleep(75)
    for idle in [True, False]:
        start = {build: daemon.cpu() for build, daemon in daemons.items()}
        for path in files:
            if not idle:
                with path.open("ab") as file:
                    file.write(b"one more line, which nobody else has\n")
            time.sleep(2)
        # A written file is read once more after 35 seconds, and made durable within a minute.
        time.sleep(65)
        for build, daemon in daemons.items():
            figures[build, idle] = (daemon.cpu() - start[build]) * 1e3 / len(files)
    lines = []
    for build, daemon in daemons.items():
        change, idle = figures[build, False], figures[build, True]
        lines.append(
            f"{build}: a small change: {change - idle:.2f} ms of CPU, without the {idle:.2f} ms "
            "that the daemon takes in the same period when nothing changes. "
            f"Both are means of {len(files)} changes"
        )
        daemon.end()
    for path, content in before.items():
        path.write_bytes(content)
    return lines


def large(builds, tree, runs, folder):
    figures = {}
    for build, programs in builds.items():
        for run in range(runs):
            watched = folder / f"large-{build}-{run}"
            state = folder / f"large-state-{build}-{run}"
            watched.mkdir()
            state.mkdir()
            path = watched / "file"
            words = random.Random(run).choices([f"word{n}" for n in range(50_000)], k=16_000_000)
            text = " ".join(words).encode()
            with path.open("wb") as file:
                for number in range(7):
                    file.write(text[number * 1000 :][: (1 << 30) // 7])
            del words, text
            figures.setdefault("md5sum", []).append(timed(f"md5sum '{path}'"))
            daemon = Daemon(programs, [watched], state)
            figures.setdefault(f"{build}: first scan", []).append(daemon.seconds)
            time.sleep(75)
            daemon.ask("sync")

            def note(name, change, sync):
                cpu, read, written = daemon.cpu(), daemon.read(), daemon.written()
                began = time.monotonic()
                change()
                if sync:
                    daemon.ask("sync")
                else:
                    # The change is known by then. Some 4 MB of the index are verified every five
                    # seconds, which may coincide.
                    time.sleep(2)
                for what, value in [
                    ("wall s", time.monotonic() - began),
                    ("CPU ms", (daemon.cpu() - cpu) * 1e3),
                    ("read MB", (daemon.read() - read) / 1e6),
                    ("index written KB", (daemon.written() - written) / 1e3),
                ]:
                    figures.setdefault(f"{build}: {name}, {what}", []).append(value)

            def append():
                with path.open("ab") as file:
                    file.write(b"x")

            def middle():
                with path.open("r+b") as file:
                    file.seek(1 << 29)
                    file.write(b"0123456789abcdef")

            def front():
                with path.open("rb") as file, (watched / ".new").open("wb") as new:
                    new.write(b"at the front now. " * 57)
                    shutil.copyfileobj(file, new, 1 << 20)
                os.rename(watched / ".new", path)

            note("a byte appended", append, False)
            note("sync after it", lambda: None, True)
            note("16 bytes in the middle, with sync", middle, True)
            daemon.ask("sync")
            note("1 KiB at the front, with copy and sync", front, True)
            daemon.end()
            shutil.rmtree(watched)
            shutil.rmtree(state)
    return figures


def groups(builds, tree, runs, folder):
    count = sum(len(files) for _, _, files in os.walk(tree))
    lines = []
    for build, programs in builds.items():
        state = folder / f"groups-{build}"
        state.mkdir()
        daemon = Daemon(programs, [tree], state)
        scanned = (daemon.seconds, daemon.cpu())
        asked = []
        for _ in range(max(2, runs)):
            cpu, began = daemon.cpu(), time.monotonic()
            daemon.ask("groups", "--format", "json", tree)
            asked.append((time.monotonic() - began, daemon.cpu() - cpu))
        lines.append(
            f"{build}: {count} files: scan {scanned[0]:.1f} s, CPU {scanned[1] / count * 1e6:.0f} "
            f"us a file; groups "
            + ", ".join(
                f"{wall:.2f} s ({cpu / count * 1e6:.0f} us of CPU a file)" for wall, cpu in asked
            )
            + f"; peak {daemon.peak():.0f} MB"
        )
        daemon.end()
        shutil.rmtree(state)
    return lines


ROWS = {"scan": scan, "restart": restart, "small": small, "large": large, "groups": groups}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("programs", type=Path)
    arguments.add_argument("tree", type=Path)
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--rows", default=",".join(ROWS))
    arguments.add_argument("--against", type=Path)
    given = arguments.parse_args()
    builds = {"now": given.programs.resolve()}
    if given.against:
        builds["before"] = given.against.resolve()
    tree = given.tree.resolve()
    with tempfile.TemporaryDirectory(dir=tree.parent, prefix=".resemble-bench-") as folder:
        for row in given.rows.split(","):
            print(f"-- {row}", flush=True)
            figures = ROWS[row](builds, tree, given.runs, Path(folder))
            for line in figures:
                if isinstance(figures, dict):
                    told(line, figures[line], "")
                else:
                    print(line, flush=True)


if __name__ == "__main__":
    main()
