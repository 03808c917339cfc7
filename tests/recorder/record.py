#!/usr/bin/env python3
"""Records what every verb answers, in every format and both ways, to compare two builds.

    record.py trees DIR [--docs FOLDER] [--kernel FOLDER]  makes the trees asked about, once
    record.py record DIR PROGRAMS OUT                      asks the programs in PROGRAMS
    record.py differ OUT OUT [--again OUT]                 says which answers differ

A change that moves code changes no answer. So record before the first step and after each one:
`differ` prints only intended changes. Answers of one build that vary from run to run are identified
by a second recording of the first build (`--again`). Each question is asked without a daemon (from
a cache that begins empty) and of a daemon that watches the tree; the overlay is walked as well.
Text that differs between runs (process numbers, sizes of index files, times) is replaced by a mark.
Recordings are folders of plain files: `diff -r` shows them.
"""

import argparse
import hashlib
import io
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.join(HERE, "..", "..")
WHEN = 1_700_000_000  # every file of the trees has this time or a little later

FORMATS = ["text", "json", "jsonl", "csv", "tsv"]
REPORTS = FORMATS + ["html", "fdupes"]
# `html` of a list has no fdupes beside it.
LISTS = FORMATS + ["html"]
METHODS = "tttd bsw bsw-min mod min sketch sif sif-anchors shingle super-shingle sorted5".split()


# ---- trees --------------------------------------------------------------------------------------


def prose(seed, words):
    rng = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgk"
    vocabulary = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(900)]
    lines, line = [], []
    for _ in range(words):
        line.append(rng.choice(vocabulary))
        if len(" ".join(line)) > 70:
            lines.append(" ".join(line))
            line = []
    return ("\n".join(lines + [" ".join(line)]) + "\n").encode()


def edited(text, seed, changes):
    rng = random.Random(seed)
    words = text.split(b" ")
    for _ in range(changes):
        words[rng.randrange(len(words))] = b"edited%d" % rng.randrange(10**6)
    return b" ".join(words)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as out:
        out.write(data)


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name, (2023, 11, 14, 22, 13, 20)), data)
    return out.getvalue()


def tarred(members, mode):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), WHEN
            archive.addfile(info, io.BytesIO(data))
    data = out.getvalue()
    # gzip writes the time at which it ran.
    return data[:4] + b"\0\0\0\0" + data[8:] if mode == "w:gz" else data


def mail(subject, body, attachments=()):
    import base64

    parts = [b"--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + body + b"\r\n"]
    for name, data in attachments:
        parts.append(
            b"--b\r\nContent-Type: application/octet-stream\r\n"
            + b"Content-Transfer-Encoding: base64\r\n"
            + f'Content-Disposition: attachment; filename="{name}"\r\n\r\n'.encode()
            + base64.encodebytes(data)
        )
    head = (
        f"From: a@example.org\r\nTo: b@example.org\r\nSubject: {subject}\r\nMIME-Version: 1.0\r\n"
    )
    head += 'Content-Type: multipart/mixed; boundary="b"\r\n\r\n'
    return head.encode() + b"".join(parts) + b"--b--\r\n"


def some_of(source, target, most, suffixes=None):
    """Copies files of a folder, the same ones each time: by the hash of their names."""
    found = []
    for folder, _, names in os.walk(source):
        for name in names:
            path = os.path.join(folder, name)
            good = suffixes is None or name.endswith(suffixes)
            if good and os.path.isfile(path) and not os.path.islink(path):
                relative = os.path.relpath(path, source)
                found.append((hashlib.md5(relative.encode()).digest(), relative))
    for _, relative in sorted(found)[:most]:
        with open(os.path.join(source, relative), "rb") as data:
            write(os.path.join(target, relative), data.read())


def make_trees(arguments):
    top = os.path.abspath(os.path.join(arguments.dir, "trees"))
    shutil.rmtree(top, ignore_errors=True)
    shutil.copytree(os.path.join(REPOSITORY, "docs/demo"), os.path.join(top, "demo"))
    if arguments.docs:
        some_of(arguments.docs, os.path.join(top, "documentation"), 700)
    if arguments.kernel:
        for part in ["drivers/hwmon", "drivers/net/ethernet/intel", "drivers/iio/adc"]:
            source = os.path.join(arguments.kernel, part)
            some_of(source, os.path.join(top, "kernel", part), 260, (".c", ".h"))

    texts = [prose(seed, 700 + 90 * seed) for seed in range(12)]
    tree = os.path.join(top, "archives")
    for at, text in enumerate(texts[:6]):
        write(f"{tree}/plain/{at}.txt", text)
        write(f"{tree}/plain/{at}-edited.txt", edited(text, at, 12))
    members = [(f"{at}.txt", text) for at, text in enumerate(texts[:6])]
    write(f"{tree}/all.zip", zipped(members))
    write(f"{tree}/all.tar", tarred(members, "w"))
    write(f"{tree}/all.tar.gz", tarred(members, "w:gz"))
    write(f"{tree}/some.zip", zipped(members[:3] + [("x/new.txt", texts[7])]))
    write(
        f"{tree}/nested.zip",
        zipped([("inner.tar", tarred(members[2:4], "w")), ("8.txt", texts[8])]),
    )
    for folder in ["extract/tests/samples", "crates/extract/tests/samples"]:
        samples = os.path.join(REPOSITORY, folder)
        if os.path.isdir(samples):
            shutil.copytree(samples, f"{tree}/samples", dirs_exist_ok=True)

    tree = os.path.join(top, "mails")
    for at, text in enumerate(texts[:6]):
        attachments = [(f"{at}.txt", text), ("both.zip", zipped(members[at : at + 2]))]
        write(f"{tree}/{at}.eml", mail(f"number {at}", texts[(at + 3) % 12], attachments))
        write(f"{tree}/files/{at}.txt", text)
    boxed = [
        b"From a@example.org Tue Nov 14 22:13:20 2023\n" + mail(f"box {at}", texts[at])
        for at in range(4)
    ]
    write(f"{tree}/box.mbox", b"\n".join(boxed))

    tree = os.fsencode(os.path.join(top, "odd"))
    names = [
        b"tab\tname.txt",
        b"line\nbreak.txt",
        b"quote'\"name.txt",
        b"-dash.txt",
        b"\xff\xfe.txt",
    ]
    names += [
        "\u00e9t\u00e9.txt".encode(),
        "e\u0301te\u0301.txt".encode(),
        b"n" * 251 + b".txt",
        b" blank .txt",
    ]
    for at, name in enumerate(names):
        write(os.path.join(tree, b"names", name), edited(texts[9], at, at * 3))
    write(os.path.join(tree, b"empty"), b"")
    write(os.path.join(tree, b"empty-too"), b"")
    write(os.path.join(tree, b"small"), b"a few words only\n")
    write(os.path.join(tree, b"small-copy"), b"a few words only\n")
    write(os.path.join(tree, b"binary"), random.Random(5).randbytes(150_000))
    write(os.path.join(tree, b"binary-part"), random.Random(5).randbytes(150_000)[20_000:90_000])
    write(os.path.join(tree, b"zeros"), bytes(300_000))
    write(os.path.join(tree, b"utf16.txt"), b"\xff\xfe" + texts[9].decode().encode("utf-16-le"))
    os.symlink(b"small", os.path.join(tree, b"link"))
    os.symlink(b"nowhere", os.path.join(tree, b"dangling"))
    os.mkfifo(os.path.join(tree, b"pipe"))
    os.link(os.path.join(tree, b"binary"), os.path.join(tree, b"binary-link"))

    # Two states of one tree, for compare, covered, dirs and the sweeps.
    for state in ["one", "two"]:
        tree = os.path.join(top, "states", state)
        for at, text in enumerate(texts):
            name = f"{tree}/{'moved' if state == 'two' and at % 4 == 1 else 'part'}/{at}.txt"
            write(name, edited(text, at, 9) if state == "two" and at % 3 == 0 else text)
        write(f"{tree}/only-{state}.txt", prose(100 + len(state + state[0]), 500))
        half = len(texts[11]) // 2
        pieces = (
            [("whole", texts[11])]
            if state == "one"
            else [("head", texts[11][:half]), ("tail", texts[11][half:])]
        )
        for name, data in pieces:
            write(f"{tree}/split/{name}", data)
        write(f"{tree}/same/zeros", bytes(5_000))
        os.symlink("part", f"{tree}/link")

    count = 0
    for folder, folders, names in os.walk(os.fsencode(top), topdown=False):
        folders.sort()
        for name in sorted(names) + [b""]:
            count += 1
            path = os.path.join(folder, name)
            os.utime(path, (WHEN + count % 977, WHEN + count % 977), follow_symlinks=False)
    print(f"{count} files and folders below {top}")


# ---- questions ----------------------------------------------------------------------------------


def files_of(tree):
    found = []
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                found.append(path)
    return sorted(found, key=os.fsencode)


def every(files, most):
    step = max(1, len(files) // most)
    return files[::step][:most]


def questions(top, name):
    """Returns (words, formats) of every question about a tree."""
    tree = os.path.join(top, name)
    files = files_of(tree)
    for file in every(files, 8):
        yield ["find", file, "--in", tree], LISTS if file == files[0] else ["text", "json"]
    subject = every(files, 5)[-1]
    yield ["find", *every(files, 4), "--in", tree, "--min", "50%", "--top", "5"], FORMATS
    yield ["find", subject, "--in", tree, "--exact"], ["text", "json"]
    yield ["find", subject, "--in", tree, "--exact", "--unit", "words"], ["text", "json"]
    yield ["find", subject, "--in", tree, "--no-text"], ["text", "json"]
    yield ["find", subject, "--in", tree, "--holders"], ["text", "json", "tsv"]
    yield ["find", subject, "--in", tree, "--holders", "--quick"], ["json"]
    yield ["pairs", tree], LISTS
    for options in [
        ["--score", "resemblance"],
        ["--score", "discounted"],
        ["--exact"],
        ["--unit", "words"],
        ["--min", "70%", "--top", "20"],
        ["--no-text"],
        ["--exclude", "*.c"],
        ["--include", "*.txt"],
    ]:
        yield ["pairs", tree, *options], ["json", "tsv"]
    yield ["groups", tree], REPORTS
    for options in [
        ["--order"],
        ["--memory", "1M", "--top", "3"],
        ["--of", subject, "--family"],
        ["--degree", "half"],
        ["--min", "80%"],
    ]:
        yield ["groups", tree, *options], ["text", "json"]
    for kind in ["hardlink", "reflink"]:
        yield ["groups", tree, "--plan", kind], [None]
    yield ["dirs", tree], REPORTS[:-1]
    for form in [["--canonical"], ["--chunks"], ["--files"]]:
        yield ["dump", *form, tree], [None]
    beside = files[:: max(1, len(files) // 6)]
    for a, b in zip(beside, beside[1:] + beside[:1]):
        yield ["why", a, b], ["text", "json"]
    for other in [file for file in files if os.path.dirname(file) == os.path.dirname(subject)][:5]:
        yield ["why", subject, other], ["text", "json", "tsv"]
        yield ["why", subject, other, "--matches-only"], ["text"]
    if name == "states":
        one, two = os.path.join(tree, "one"), os.path.join(tree, "two")
        for a, b in [(one, two), (two, one), (one, one)]:
            yield ["compare", a, b], REPORTS[:-1]
            yield ["covered", a, "--by", b], REPORTS[:-1]
        yield ["compare", one, two, "--exact", "--names", "--min", "80%"], FORMATS
        yield ["compare", one, two, "--exclude", "*1*", "--top", "3"], FORMATS
        yield ["covered", one, "--by", two, "--all"], FORMATS
        yield ["dirs", tree, "--of", one], FORMATS
        yield ["compare", one, two, "--plan", "apply"], [None]
    else:
        folders = sorted({os.path.dirname(file) for file in files}, key=os.fsencode)
        if len(folders) > 1:
            yield ["compare", folders[0], folders[1]], FORMATS
            yield ["covered", folders[1], "--by", tree], FORMATS
    yield ["find", os.path.join(tree, "no such file"), "--in", tree], ["text", "json"]
    yield ["pairs", os.path.join(tree, "no such folder")], ["text", "json"]


def lab_questions(top, name):
    tree = os.path.join(top, name)
    subject = every(files_of(tree), 5)[-1]
    for method in METHODS:
        yield ["find", subject, "--in", tree, "--method", method], ["text", "json"]
        yield ["pairs", tree, "--method", method], ["json", "tsv"]
    for method in ["sif", "mod", "shingle", "super-shingle", "sorted5"]:
        yield ["groups", tree, "--method", method], ["text", "json"]
    for method in ["tttd", "sif", "shingle"]:
        yield ["dump", "--method", method, tree], [None]
    yield ["groups", tree, "--method", "sif", "--where", "b.size < a.size"], ["json"]


# ---- asking -------------------------------------------------------------------------------------


class Home:
    """A home, a cache and a runtime folder that begin empty; the same path for every recording."""

    def __init__(self, base, programs):
        self.base, self.programs = base, programs
        shutil.rmtree(base, ignore_errors=True)
        for name in ["home", "cache", "run", "state", "config"]:
            os.makedirs(os.path.join(base, name), mode=0o700)
        self.env = {
            "PATH": programs + ":" + os.environ["PATH"],
            "HOME": f"{base}/home",
            "XDG_CACHE_HOME": f"{base}/cache",
            "XDG_RUNTIME_DIR": f"{base}/run",
            "XDG_STATE_HOME": f"{base}/state",
            "XDG_CONFIG_HOME": f"{base}/config",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "120",
        }

    def ask(self, words):
        command = [os.path.join(self.programs, "resemble"), *words]
        begin = time.monotonic()
        done = subprocess.run(
            command,
            env=self.env,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
            cwd=self.base,
            timeout=600,
        )
        return done, time.monotonic() - begin


VOLATILE = [
    (re.compile(rb"process \d+"), b"process N"),
    (
        re.compile(
            rb'"(clock|pid|index_bytes|since|made|date|settled|uptime)":("[^"]*"|[0-9.]+|null)'
        ),
        rb'"\1":0',
    ),
    (re.compile(rb"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?Z?"), b"TIME"),
    (re.compile(rb"\b(in|took) [0-9.]+ ?m?s\b"), b"in T"),
    # A digest of the whole answer, which includes times.
    (re.compile(rb"<!-- digest [0-9a-f]{64} -->"), b"<!-- digest DIGEST -->"),
    (re.compile(rb',"digest":"[0-9a-f]{64}"\}'), b',"digest":"DIGEST"}'),
]


def steady(data):
    for pattern, mark in VOLATILE:
        data = pattern.sub(mark, data)
    return data


def slug(words):
    text = " ".join(words)
    short = re.sub(r"[^A-Za-z0-9=%.,-]+", "_", " ".join(os.path.basename(word) for word in words))[
        :90
    ]
    return f"{short}.{hashlib.md5(os.fsencode(text)).hexdigest()[:8]}"


def keep(out, name, done):
    write(f"{out}/{name}.out", steady(done.stdout))
    write(f"{out}/{name}.err", steady(done.stderr) + b"exit %d\n" % done.returncode)


def ask_all(home, asked, out, prefix=()):
    seconds = {}
    for words, formats in asked:
        for form in formats:
            full = [*words, *(["--format", form] if form else [])]
            done, took = home.ask([*prefix, *full])
            seconds[full[0]] = seconds.get(full[0], 0) + took
            keep(out, slug(full), done)
    return seconds


def run_daemon(home, tree, mount):
    ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    path = f"{home.base}/ready"
    ready.bind(path)
    ready.settimeout(300)
    command = [os.path.join(home.programs, "resembled"), "--wait", "--mount", mount, tree]
    log = open(f"{home.base}/daemon.log", "wb")
    env = dict(home.env, NOTIFY_SOCKET=path)
    daemon = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    while b"READY=1" not in ready.recv(4096):
        pass
    return daemon


def walk_overlay(mount, out):
    """Records every `.similar` of at most 60 files: names, targets, reasons, the report,
    attributes."""
    found, text = [], []
    for folder, folders, names in os.walk(mount):
        folders.sort()
        base = os.path.basename(folder)
        if ".similar" in folders and base in names:
            found.append(folder)
            folders.clear()
    for folder in every(sorted(found, key=os.fsencode), 60):
        text.append(f"== {folder!r}")
        for attribute in ["count", "best", "best_percent", "relation"]:
            try:
                text.append(f"{attribute} {os.getxattr(folder, 'user.resemble.' + attribute)!r}")
            except OSError as error:
                text.append(f"{attribute} {error.errno}")
        similar = os.path.join(folder, ".similar")
        for entry in sorted(os.listdir(similar), key=os.fsencode):
            path = os.path.join(similar, entry)
            if os.path.islink(path):
                text.append(f"{entry!r} -> {os.readlink(path)!r}")
            elif os.path.isfile(path):
                text.append(f"{entry!r} {hashlib.md5(open(path, 'rb').read()).hexdigest()}")
        for name in [".report.json"] + [
            f".why/{entry}" for entry in sorted(os.listdir(f"{similar}/.why"))[:4]
        ]:
            try:
                text.append(
                    f"-- {name!r}\n"
                    + open(os.path.join(similar, name), errors="backslashreplace").read()
                )
            except OSError as error:
                text.append(f"-- {name!r} {error.errno}")
    write(f"{out}/overlay.txt", steady("\n".join(text).encode(errors="surrogateescape")))


def record(arguments):
    base = os.path.abspath(arguments.dir)
    top, out = os.path.join(base, "trees"), os.path.abspath(arguments.out)
    programs = os.path.abspath(arguments.programs)
    shutil.rmtree(out, ignore_errors=True)
    names = arguments.only or sorted(os.listdir(top))
    for name in names:
        tree = os.path.join(top, name)
        home = Home(os.path.join(base, "home"), programs)
        cold = ask_all(home, questions(top, name), f"{out}/{name}/local", ["--local"])
        again = list(questions(top, name))[:12]
        ask_all(home, again, f"{out}/{name}/again", ["--local"])
        if name in ("archives", "states", "kernel", "documentation"):
            has_lab = subprocess.run(
                [f"{programs}/resemble", "lab", "--help"], capture_output=True, check=False
            )
            lab = ["lab"] if has_lab.returncode == 0 else ["--local"]
            ask_all(home, lab_questions(top, name), f"{out}/{name}/lab", lab)
        catalogue = f"{home.base}/tree.cat"
        done, _ = home.ask(["catalogue", "write", tree, "-o", catalogue])
        keep(f"{out}/{name}/catalogue", "export", done)
        subject = every(files_of(tree), 5)[-1]
        asked = [
            (["find", subject, "--in", catalogue], ["text", "json"]),
            (["groups", catalogue], ["text", "json"]),
            (["pairs", catalogue], ["json"]),
            (["dump", "--canonical", catalogue], [None]),
            (["compare", catalogue, tree], ["text", "json"]),
            (["dirs", catalogue], ["json"]),
            (["covered", catalogue, "--by", tree, "--by-digest"], ["text", "json"]),
            (["lost", subject, "--in", catalogue], ["text", "json"]),
        ]
        ask_all(home, asked, f"{out}/{name}/catalogue")

        home = Home(os.path.join(base, "home"), programs)
        mount = f"{home.base}/view"
        daemon = run_daemon(home, tree, mount)
        try:
            home.ask(["sync"])
            warm = ask_all(home, questions(top, name), f"{out}/{name}/daemon")
            walk_overlay(mount, f"{out}/{name}")
            keep(f"{out}/{name}/daemon", "watch-list", home.ask(["watch", "list"])[0])
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(60)
        sum_of = lambda seconds: " ".join(
            f"{verb} {took:.1f}" for verb, took in sorted(seconds.items())
        )
        print(f"{name}: local {sum_of(cold)} s; daemon {sum_of(warm)} s", flush=True)


def differ(arguments):
    def listing(top):
        return {
            os.path.relpath(os.path.join(folder, name), top)
            for folder, _, names in os.walk(top)
            for name in names
        }

    def bytes_of(top, name):
        with open(os.path.join(top, name), "rb") as data:
            return data.read()

    a, b = listing(arguments.a), listing(arguments.b)
    changed, unsteady = [], 0
    for name in sorted(a | b):
        if name not in a or name not in b:
            changed.append((name, "only in " + (arguments.a if name in a else arguments.b)))
            continue
        before = bytes_of(arguments.a, name)
        if before == bytes_of(arguments.b, name):
            continue
        if arguments.again and bytes_of(arguments.again, name) != before:
            unsteady += 1
        else:
            changed.append((name, "differs"))
    for name, what in changed:
        print(f"{what}: {name}")
    text = f"{len(a | b)} answers, {len(changed)} differ"
    print(text + f", {unsteady} more in the first build itself" * bool(unsteady), file=sys.stderr)
    return 1 if changed else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    trees = verbs.add_parser("trees")
    trees.add_argument("dir")
    trees.add_argument("--docs")
    trees.add_argument("--kernel")
    asks = verbs.add_parser("record")
    asks.add_argument("dir")
    asks.add_argument("programs")
    asks.add_argument("out")
    asks.add_argument("--only", nargs="*")
    pair = verbs.add_parser("differ")
    pair.add_argument("a")
    pair.add_argument("b")
    pair.add_argument("--again")
    arguments = parser.parse_args()
    sys.exit({"trees": make_trees, "record": record, "differ": differ}[arguments.verb](arguments))


main()
