"""Asks every verb about a folder and returns its rows in one form.

A row is about two files, the lesser name first. Names are relative to the folder; a member has the
name of its archive. Fields that a verb does not report (unit, estimate) are None. `asked` is the
subject, in the order of rows.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections import namedtuple
from pathlib import Path

Row = namedtuple(
    "Row", "a b score a_in_b b_in_a resemblance shared unit estimate relation member layer asked"
)


def row(top, said, a, b, score=None):
    """Returns a row from a verb's JSON."""
    name = lambda path: os.path.relpath(os.path.join(top, path.split("!")[0]), top)
    one, other = name(a), name(b)
    a_in_b, b_in_a = said.get("a_in_b"), said.get("b_in_a")
    if score is None:
        score = max(a_in_b or 0, b_in_a or 0)
    if one > other:
        one, other, a_in_b, b_in_a = other, one, b_in_a, a_in_b
    return Row(
        one,
        other,
        score,
        a_in_b,
        b_in_a,
        said.get("resemblance"),
        said.get("shared_bytes"),
        said.get("unit"),
        said.get("estimate"),
        said.get("relation"),
        "!" in a or "!" in b,
        said.get("layer"),
        name(said["file"]) if "file" in said else None,
    )


class Asked:
    """The answers of every verb about one folder, each with its seconds."""

    def __init__(self, binary, top, text):
        self.binary, self.top, self.text = Path(binary).resolve(), Path(top).resolve(), text
        self.answers, self.seconds, self.notes = {}, {}, []

    def run(self, *arguments, said=None, cwd=None):
        with tempfile.TemporaryDirectory() as cache:
            return subprocess.run(
                [str(self.binary), *map(str, arguments)],
                cwd=cwd or self.top,
                input=said,
                text=True,
                errors="surrogateescape",
                capture_output=True,
                check=False,
                env=dict(os.environ, XDG_CACHE_HOME=cache),
            ).stdout

    def copy(self, name, place):
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.top / name, place)

    def timed(self, verb, ask):
        begin = time.monotonic()
        self.answers[verb] = ask()
        self.seconds[verb] = time.monotonic() - begin

    def pairs(self):
        options = ["--all"] + ["--text"] * self.text
        answer = json.loads(
            self.run("--local", "pairs", ".", "--format", "json", "--no-cache", *options)
        )
        return [
            row(self.top, said, said["a"], said["b"], said["score"] or 0)
            for said in answer["pairs"]
        ]

    def groups(self):
        answer = json.loads(self.run("--local", "groups", ".", "--format", "json", "--no-cache"))
        rows = [
            row(self.top, link, link["a"], link["b"])
            for cluster in answer["clusters"]
            for link in cluster["links"]
        ]
        same = {"a_in_b": 1.0, "b_in_a": 1.0, "relation": "identical"}
        sets = [[os.path.normpath(path) for path in one["paths"]] for one in answer["identical"]]
        copies = {path: paths for paths in sets for path in paths}
        # A cluster names one of a set of identical files, and its figures hold for all of them.
        rows += [
            row(self.top, one._asdict(), a, b)
            for one in rows
            for a in copies.get(one.a, [one.a])
            for b in copies.get(one.b, [one.b])
            if (a, b) != (one.a, one.b)
        ]
        for paths in sets:
            rows += [
                row(self.top, same, paths[at], other)
                for at in range(min(len(paths), 20))
                for other in paths[at + 1 :]
            ]
        inside = [
            [os.path.normpath(member["path"]) for member in cluster["members"]]
            for cluster in answer["clusters"]
        ]
        inside = sets + [
            [copy for path in members for copy in copies.get(path, [path])] for members in inside
        ]
        self.clusters = inside
        return rows

    def compare(self, one, other):
        """`one` and `other` are lists of names; each side becomes a folder of copies."""
        with tempfile.TemporaryDirectory() as work:
            for side, names in (("a", one), ("b", other)):
                for name in names:
                    self.copy(name, Path(work, side, name))
            begin = time.monotonic()
            answer = json.loads(
                self.run("--local", "compare", "a", "b", "--format", "json", "--no-cache", cwd=work)
            )
            self.seconds["compare"] = time.monotonic() - begin
        entries = [entry for entry in answer["entries"] if entry["a"] and entry["b"]]
        others = [
            dict(entry, **{"class": "others"})
            for entry in answer.get("others", [])
            if entry.get("a") and entry.get("b")
        ]
        self.answers["compare"] = [
            row(self.top, dict(entry, relation=entry["class"]), entry["a"], entry["b"])
            for entry in entries + others
        ]

    def daemon(self, names, arriving):
        """Returns find and .similar of these files by a daemon, then its alerts about arriving
        files."""
        home = Path(tempfile.mkdtemp())
        daemon = Daemon(self.binary, home, [self.top], self.text)
        try:
            self.timed("find", lambda: self._find(daemon, names))
            self.timed(".similar", lambda: self._similar(daemon, names))
        finally:
            daemon.end()
        if arriving:
            self._alerts(home, *arriving)
        shutil.rmtree(home, ignore_errors=True)

    def _find(self, daemon, names):
        said = "".join(f"{self.top / name}\n" for name in names)
        lines = self.run(
            "--socket", daemon.socket, "find", "--files-from", "-", "--format", "jsonl", said=said
        ).splitlines()[1:]
        rows = [json.loads(line) for line in lines]
        return [
            row(self.top, said, said["file"], said["path"])
            for said in rows
            if "path" in said and "relation" in said
        ]

    def _similar(self, daemon, names):
        """Returns the entries of `ls FILE/.similar`, with the figures of the report."""
        rows, wrong, slow = [], 0, []
        for name in names:
            folder = daemon.mount / name / ".similar"
            begin = time.monotonic()
            entries = [entry for entry in os.listdir(folder) if entry[:3].isdigit()]
            slow.append(time.monotonic() - begin)
            report = json.loads((folder / ".report.json").read_text(errors="surrogateescape"))
            told = {}
            for said in report["results"]:
                told.setdefault(said["path"].split("!")[0], []).append(said)
            for entry in entries:
                # An entry for a member of an archive leads elsewhere.
                path = os.readlink(folder / entry) if os.path.islink(folder / entry) else None
                shares = {
                    min(
                        int((said["a_in_b"] or 0) * 100 + 1e-9),
                        100 if said["relation"] == "identical" else 99,
                    ): said
                    for said in told.get(path, ())
                }
                if path in told and int(entry[:3]) not in shares:
                    wrong += 1
                rows += [
                    row(self.top, said, said["file"], said["path"])
                    for share, said in shares.items()
                    if share == int(entry[:3])
                ][:1]
        slow.sort()
        milliseconds = [f"{slow[len(slow) * part // 100] * 1000:.1f} ms" for part in (50, 99)]
        self.notes = [
            "| listings of `.similar` | median | 99th percentile | wrong percentages |",
            "|---|---|---|---|",
            f"| {len(names)} files | {' | '.join(milliseconds)} | {wrong} |",
        ]
        return rows

    def _alerts(self, home, old, new):
        root = home / "root"
        for name in old:
            self.copy(name, root / name)
        daemon = Daemon(self.binary, home / "second", [root], self.text)
        try:
            begin = time.monotonic()
            for name in new:
                self.copy(name, root / name)
                time.sleep(0.01)
            self.run("--socket", daemon.socket, "sync")
            time.sleep(11)  # an alert is raised at most 10 s after a change
            self.seconds["alerts"] = time.monotonic() - begin
            answer = json.loads(self.run("--socket", daemon.socket, "alerts", "--format", "json"))
            away = lambda path: os.path.relpath(path, root)
            self.answers["alerts"] = [
                row(self.top, said, away(said["a"]), away(said["b"]))
                for said in answer["alerts"]
                if said.get("b") and said["kind"] == "file"
            ]
            # A folder that arrives as a whole is one alert.
            whole = {away(said["a"]) for said in answer["alerts"]}
            self.alerted = {
                name
                for name in new
                if name in whole or any(str(folder) in whole for folder in Path(name).parents)
            }
        finally:
            daemon.end()


class Daemon:
    """A daemon over some folders, which answers when this returns."""

    def __init__(self, binary, home, roots, text):
        self.socket, self.mount = home / "socket", home / "mount"
        for folder in (home, home / "run"):
            folder.mkdir(parents=True, exist_ok=True)
        command = [
            binary.with_name("resembled"),
            "--state",
            home / "state",
            "--socket",
            self.socket,
            "--mount",
            self.mount,
            "--wait",
            "--text",
            "on",
            *roots,
        ]
        self.process = subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, XDG_RUNTIME_DIR=str(home / "run")),
        )
        while not os.path.ismount(self.mount) or not self.socket.exists():
            if self.process.poll() is not None:
                raise SystemExit("resembled ended")
            time.sleep(0.05)
        # Documents are taken apart after the scan.
        subprocess.run([binary, "--socket", self.socket, "sync"], check=True, capture_output=True)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
