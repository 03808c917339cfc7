#!/usr/bin/env python3
"""tasks.py [--bin DIR]: the first table of docs/peers.md, tasks with their truth, in Markdown.

One home is made (`scale/made.py` has the texts), always the same, so the files that must go, stay
or be listed are known. Each way of doing a task runs five times, on a fresh copy of its folders.
The files are in the page cache, and there is no daemon, index or cache, as on the first day. It
prints the commands, the least wall and processor seconds, and how much of the result is right. If a
task changes files, the result is read from the disk. A missing program is named as such.
"""

import argparse
import collections
import filecmp
import hashlib
import io
import json
import os
import random
import re
import resource
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import zipfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "scale"))
from made import edited, put, text  # noqa: E402

ROUNDS = 5
DAY = 86_400
NOW = 1_760_000_000
OFFICE = "http://schemas.openxmlformats.org"


def docx(content, modified):
    """Returns an Office document with this modification date."""
    core = f"{OFFICE}/package/2006/metadata/core-properties"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{OFFICE}/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{OFFICE}/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/officeDocument/2006/relationships/officeDocument" '
        'Target="word/document.xml"/><Relationship Id="r2" Target="docProps/core.xml" Type="'
        f'{OFFICE}/package/2006/relationships/metadata/core-properties"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{OFFICE}/wordprocessingml/2006/main"><w:body>'
        + "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in content.splitlines())
        + "</w:body></w:document>",
        "docProps/core.xml": f'<cp:coreProperties xmlns:cp="{core}" '
        'xmlns:dcterms="http://purl.org/dc/terms/"><dcterms:modified>'
        + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(modified))
        + "</dcterms:modified></cp:coreProperties>",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), '<?xml version="1.0"?>' + part)
    return packed.getvalue()


def png(side, shade):
    """Returns a grey picture of `side` pixels a side; `shade` is called with fractions of it."""
    rows = (
        b"\0" + bytes(shade(x / side, y / side) for x in range(side)) for y in range(side)
    )
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"".join(rows))),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


class Home:
    """The tree, and the truth about it: sets of paths."""

    def __init__(self, root):
        self.root = root
        self.draw = random.Random(52)
        self.photos()
        self.letters()
        self.thesis()
        self.disk()
        self.old_disk()
        self.drawer()
        self.pictures()

    def put(self, name, content, age=None):
        put(self.root, name, content)
        when = NOW - (self.draw.randrange(1000) if age is None else age) * DAY
        os.utime(self.root / name, (when, when))

    def photos(self):
        """Copies below `phone` and those named `NAME (1)` go, unless the set has no other file."""
        draw, head = self.draw, self.draw.randbytes(4096)
        photo = lambda: head + draw.randbytes(draw.randrange(60_000, 300_000))
        self.copies = set()

        def keep(name, *copies):
            content, age = photo(), draw.randrange(1000)
            self.put(f"photos/{name}", content, age)
            for copy in copies:
                # Phones and file managers keep the time.
                self.put(f"photos/{copy}", content, age)
                self.copies.add(f"photos/{copy}")

        for n in range(300):
            keep(f"2024/DSC_{n:04}.jpg", f"phone/IMG_{9000 - n}.jpg")
        for n in range(300, 450):
            keep(f"2024/DSC_{n:04}.jpg", f"inbox/DSC_{n:04} (1).jpg")
        for n in range(450, 500):
            keep(f"inbox/beach-{n}.jpg", f"inbox/beach-{n} (1).jpg")
        for n in range(500, 530):
            keep(f"phone/hut-{n}.jpg", f"phone/hut-{n} (1).jpg")
        for n in range(530, 630):
            keep(f"phone/IMG_{n}.jpg")
        # Equal except for the last byte.
        for n in range(20):
            content = photo()
            self.put(f"photos/2024/edited-{n}.jpg", content)
            self.put(f"photos/phone/edited-{n}.jpg", content[:-1] + bytes([content[-1] ^ 1]))

    def letters(self):
        """Earlier versions go if 90 % of them is in a later one, by date or completely."""
        draw, self.earlier = self.draw, set()
        for n in range(150):
            lines = text(draw, 400).splitlines(keepends=True)
            for version in range(3):
                self.put(f"letters/{n:03}-{version}.txt", "".join(lines))
                lines.insert(draw.randrange(len(lines)), text(draw, 12))
            self.earlier |= {f"letters/{n:03}-{version}.txt" for version in range(2)}
        for n in range(150, 200):
            content = text(draw, 400)
            first, second = draw.sample("ab", 2)
            self.put(f"letters/{n}-{first}.docx", docx(content, NOW - 90 * DAY))
            lines = content.splitlines(keepends=True)
            lines[7] = text(draw, 12)
            self.put(f"letters/{n}-{second}.docx", docx("".join(lines), NOW - 30 * DAY))
            self.earlier.add(f"letters/{n}-{first}.docx")
        # A third of each of these is its own, and these share a template.
        template = text(draw, 200)
        for n in range(200, 230):
            content = text(draw, 240)
            self.put(f"letters/{n}-0.txt", content + text(draw, 120))
            self.put(f"letters/{n}-1.txt", content + text(draw, 120))
            self.put(f"letters/{n}-2.txt", template + text(draw, 200))

    def thesis(self):
        """The files have the times of the stick that they were copied from."""
        draw, content = self.draw, text(self.draw, 4000)
        tails = ("", "-final", "-final2", " (copy)", "-new", "-b")
        names = [f"thesis{tail}.docx" for tail in tails]
        draw.shuffle(names)
        for age, name in enumerate(names):
            # The newest file was copied to the stick first.
            self.put(f"thesis/{name}", docx(content, NOW - (60 - age) * DAY), age)
            content = edited(draw, content, 0.03)
        self.newest = {f"thesis/{names[-1]}"}

    def disk(self):
        """Makes a backup, and the disk with its later changes."""
        draw, root = self.draw, self.root
        for n in range(1500):
            folder = ("photos", "letters", "work/2023", "work/2024")[n % 4]
            size = draw.randrange(20_000, 60_000)
            self.put(f"backup/{folder}/{n:04}.bin", draw.randbytes(size))
        shutil.copytree(root / "backup", root / "disk")
        disk = root / "disk"
        (disk / "photos").rename(disk / "pictures")
        (disk / "work").rename(disk / "projects")
        letters = sorted((disk / "letters").iterdir())
        for n, letter in enumerate(letters[:100]):
            letter.rename(disk / "letters" / f"aunt-{n}.bin")
        for one, other in zip(letters[100:110], letters[110:120]):
            aside = disk / "aside"
            one.rename(aside)
            other.rename(one)
            aside.rename(other)
        for letter in letters[200:210]:
            with open(letter, "ab") as file:
                file.write(b"more")
        for n in range(15):
            self.put(f"disk/new/{n}.bin", draw.randbytes(30_000))
        fresh = [*letters[200:210], *(disk / "new").iterdir()]
        self.changed_bytes = sum(file.stat().st_size for file in fresh)

    def old_disk(self):
        """In `old` five files were edited and three are nowhere else, one of them twice in it."""
        draw, self.missing = self.draw, set()
        for n in range(1000):
            content = text(draw, draw.randrange(200, 2000))
            name = f"old/{n % 10}/{n:03}.txt"
            self.put(name, content)
            if n >= 997:
                self.missing.add(name)
                continue
            if n >= 992:
                content = edited(draw, content, 0.05)
                self.missing.add(name)
            moved = f"sorted/{n % 7}/note-{n:03}.txt" if n % 3 == 0 else f"{n % 10}/{n:03}.txt"
            self.put(f"archive/{moved}", content)
        shutil.copy2(self.root / "old/7/997.txt", self.root / "old/1/997 again.txt")
        self.missing.add("old/1/997 again.txt")

    def drawer(self):
        """The disk of the drawer has some of `docs`, and others in another version."""
        draw, self.there = self.draw, set()
        for n in range(400):
            content = text(draw, draw.randrange(200, 2000))
            name = f"docs/{n % 8}/{n:03}"
            is_office = n % 2 == 0
            write = (lambda words: docx(words, NOW)) if is_office else str.encode
            name += ".docx" if is_office else ".txt"
            here = write(content)
            self.put(name, here)
            if n < 240:
                self.put(f"drawer/{n % 5}/old-{n:03}{Path(name).suffix}", here)
            elif n < 300:
                other = write(edited(draw, content, 0.1) + text(draw, 12))
                self.put(f"drawer/{n % 5}/old-{n:03}{Path(name).suffix}", other)
            if n < 300:
                self.there.add(name)

    def pictures(self):
        """Each picture has a copy of half its size and slightly brighter."""
        self.smaller = set()
        for n in range(20):
            knots = [[self.draw.randrange(220) for _ in range(7)] for _ in range(7)]

            def shade(x, y, more=0):
                left, top = int(x * 6), int(y * 6)
                right, down = x * 6 - left, y * 6 - top
                upper = knots[top][left] * (1 - right) + knots[top][left + 1] * right
                lower = knots[top + 1][left] * (1 - right) + knots[top + 1][left + 1] * right
                return int(upper * (1 - down) + lower * down) + more

            self.put(f"pictures/{n:02}.png", png(256, shade))
            self.put(f"pictures/small/{n:02}.png", png(128, lambda x, y: shade(x, y, 6)))
            self.smaller |= {f"pictures/{n:02}.png", f"pictures/small/{n:02}.png"}


def listed(root):
    """Returns the regular files below a folder, without the trash and files that programs leave."""
    found = (Path(folder) / name for folder, _, names in os.walk(root) for name in names)
    files = (file for file in found if file.is_file() and not file.is_symlink())
    return {str(file.relative_to(root)) for file in files}


def identity(file):
    return os.stat(file), hashlib.md5(file.read_bytes()).digest()


def sets(wanted, found):
    """Returns how much of a set is right."""
    missed, wrong = len(wanted - found), len(found - wanted)
    if not missed and not wrong:
        return f"right: {len(wanted)}" if len(wanted) > 1 else "right"
    told = [f"{len(wanted & found)} of {len(wanted)}"]
    if wrong:
        told.append(f"{wrong} wrong")
    return ", ".join(told)


class Run:
    """A finished way of doing a task, in its folder."""

    def __init__(self, home, folder, out, before):
        self.home, self.folder, self.out, self.before = home, folder, out, before

    def gone(self, wanted):
        after = listed(self.folder)
        return sets(wanted, {name for name in self.before if name not in after})

    def names(self, wanted, pattern=r"(?m)^(.+)$"):
        return sets(wanted, set(re.findall(pattern, self.out)))

    def superseded(self):
        return self.gone(self.home.earlier)

    def photos(self):
        return self.gone(self.home.copies)

    def linked(self):
        """Compares the disk space of the photos with the space that they need."""
        files = [self.folder / "photos" / name for name in listed(self.folder / "photos")]
        stats = {(stat.st_dev, stat.st_ino): stat.st_size for stat in map(os.stat, files)}
        contents = {hashlib.md5(file.read_bytes()).digest(): file.stat().st_size for file in files}
        spare = sum(stats.values()) - sum(contents.values())
        return "right: one file a content" if not spare else f"{spare / 1e6:.0f} MB left"

    def transferred(self):
        """Returns what was written into the backup, and whether it now equals the disk."""
        backup, disk = self.folder / "backup", self.folder / "disk"
        copied = sum(
            stat.st_size
            for stat, digest in map(identity, (backup / name for name in listed(backup)))
            if self.home.inodes.get(stat.st_ino) != digest
        )
        names = listed(backup)
        is_equal = names == listed(disk) and not filecmp.cmpfiles(
            disk, backup, sorted(names), shallow=False
        )[1]
        right = "right" if is_equal and copied == self.home.changed_bytes else "equal"
        return f"{right if is_equal else 'NOT equal'}: {copied / 1e6:.1f} MB copied"

    def missing(self):
        return sets(self.home.missing, {row["path"] for row in json.loads(self.out)["missing"]})


# Task: (title, question, folders, ways); way: (program, commands, check of the run). The last
# command's output is the answer. A `#` ends the printed part of a command.
def tasks(home):
    resemble = "resemble --local"
    newest = r"(?m)^.*?(\S*thesis/.*\.docx)  newest"
    return [
        (
            "Clean up my photos' copies",
            "1,200 photos. Copies below `phone` and those named `NAME (1)` go; of a photo that has "
            "no other copy one stays. 20 pairs differ by one byte.",
            ["photos"],
            [
                ("resemble",
                 [f"{resemble} groups photos --only identical --keep not-in:photos/phone "
                  "--keep 'not-name:* (?)*' --plan trash -o plan.sh", "sh plan.sh --do-it"],
                 Run.photos),
                ("fclones",
                 ["fclones group photos | fclones remove --name '* (?).*'",
                  "fclones group photos | fclones remove --path '**/phone/**'"],
                 Run.photos),
                ("rmlint",
                 ["rmlint -T df -S 'X< \\([0-9]\\)\\.>R</phone/>' photos", "sh rmlint.sh -d"],
                 Run.photos),
                ("czkawka",
                 ["czkawka_cli dup -m 1 -W -d photos -D AEO"], Run.photos),
                ("czkawka, with folders that keep theirs",
                 ["czkawka_cli dup -m 1 -W -d photos -r photos/2024 -D AEO"], Run.photos),
                ("jdupes", ["jdupes -r -O -d -N photos/2024 photos/inbox photos/phone"],
                 Run.photos),
                ("fdupes", ["fdupes -r -d -N -o name photos/2024 photos/inbox photos/phone"],
                 Run.photos),
            ],
        ),
        (
            "Have every photo once on the disk, under all its names",
            "The same photos; copies become hard links.",
            ["photos"],
            [
                ("resemble",
                 [f"{resemble} groups photos --only identical --plan hardlink -o plan.sh",
                  "sh plan.sh --do-it"], Run.linked),
                ("fclones", ["fclones group photos | fclones link"], Run.linked),
                ("rmlint", ["rmlint -T df -c sh:hardlink photos", "sh rmlint.sh -d"], Run.linked),
                ("czkawka", ["czkawka_cli dup -m 1 -W -d photos -D HARD"], Run.linked),
                ("jdupes", ["jdupes -r -L photos"], Run.linked),
            ],
        ),
        (
            "Which thesis is newest?",
            "Six versions of a document; the times of the files are those of a stick.",
            ["thesis"],
            [
                ("resemble", [f"{resemble} versions thesis/thesis.docx --in thesis"],
                 lambda run: run.names(home.newest, newest)),
                ("ls", ["ls -t thesis/* | head -n 1"], lambda run: run.names(home.newest)),
                ("fclones, rmlint, czkawka, jdupes, fdupes", [], None),
            ],
        ),
        (
            "Clear away older versions",
            "640 files. 150 letters have three versions, each of which holds the earlier one. 50 have "
            "two that differ in a line and state their dates. The others stay: 60 have a third of "
            "their own, and 30 have a common template.",
            ["letters"],
            [
                ("resemble",
                 [f"{resemble} groups letters --plan trash --superseded 90% -o plan.sh",
                  "sh plan.sh --do-it"], Run.superseded),
                ("fclones, rmlint, czkawka, jdupes, fdupes", [], None),
            ],
        ),
        (
            "Make the backup follow my renames",
            "The backup has 1,500 files (60 MB). On the disk, two folders and 100 files were "
            "renamed, 20 files swapped names in pairs, ten files have grown, and 15 new files "
            "were added.",
            ["disk", "backup"],
            [
                ("resemble, rsync",
                 [f"{resemble} compare disk backup --plan rename -o plan.sh",
                  "sh plan.sh --do-it", "rsync -a --delete disk/ backup/"], Run.transferred),
                ("rsync", ["rsync -a --delete disk/ backup/"], Run.transferred),
                ("rsync --fuzzy",
                 ["rsync -a --delete-after --fuzzy --fuzzy disk/ backup/"], Run.transferred),
                ("rclone",
                 ["rclone sync disk backup --track-renames"], Run.transferred),
                ("fclones, rmlint, czkawka, jdupes, fdupes", [], None),
            ],
        ),
        (
            "May this folder go, and what is nowhere else?",
            "1,001 notes. A third lies elsewhere in `archive` under another name, five were edited "
            "there, and four (two of them equal) are only in `old`.",
            ["old", "archive"],
            [
                ("resemble", [f"{resemble} covered old --by archive --format json"],
                 Run.missing),
                ("fclones",
                 ["fclones group --unique --isolate old archive -f fdupes | grep /old/"],
                 lambda run: run.names(home.missing, r"(?m)(old/.+)$")),
                ("rmlint",
                 ["rmlint -T df -o uniques:left archive // old -km", "grep /old/ left"],
                 lambda run: run.names(home.missing, r"(?m)(old/.+)$")),
                ("jdupes", ["jdupes -ru old archive | grep ^old"],
                 lambda run: run.names(home.missing)),
                ("rsync", ["rsync -anc --out-format=%n old/ archive/ | grep -v /$"],
                 lambda run: sets(home.missing, {f"old/{n}" for n in run.out.splitlines()})),
                ("diff", ["diff -rq old archive"],
                 lambda run: sets(home.missing, {
                     "/".join(filter(None, found)).replace(": ", "/")
                     for found in re.findall(
                         r"(?m)^Only in (old.*)$|^Files (old\S+(?: again\.txt)?) and", run.out)})),
                ("czkawka, fdupes", [], None),
            ],
        ),
        (
            "Which of my documents are on the disk in the drawer?",
            "400 documents here. The disk has 240 of them under other names, and 60 in another "
            "version. A file beside the documents is kept of it.",
            ["docs", "drawer"],
            [
                ("resemble",
                 [f"{resemble} catalogue write drawer -o disk.cat",
                  f"mv drawer away; {resemble} compare docs disk.cat --format json"],
                 lambda run: sets(home.there, in_drawer(run))),
                ("md5sum",
                 ["find drawer -type f -exec md5sum {} + | cut -c1-32 > disk.md5",
                  "mv drawer away; find docs -type f -exec md5sum {} + | grep -Ff disk.md5 "
                  "| cut -c35-"],
                 lambda run: run.names(home.there)),
                ("ssdeep",
                 ["ssdeep -rl drawer > disk.ssd", "mv drawer away; ssdeep -rlm disk.ssd docs"],
                 lambda run: run.names(home.there, r"(?m)^(docs/.+?) matches")),
                ("fclones, rmlint, czkawka, jdupes, fdupes", [], None),
            ],
        ),
        (
            "Which pictures look alike?",
            "20 pictures, each again at half its size and a little brighter.",
            ["pictures"],
            [
                ("czkawka", ["czkawka_cli image -m 1 -W -d pictures"],
                 lambda run: run.names(home.smaller, r"(pictures/(?:small/)?\d\d\.png)")),
                ("resemble", [f"{resemble} groups pictures --format tsv"],
                 lambda run: run.names(home.smaller, r"(pictures/(?:small/)?\d\d\.png)")),
                ("fclones, rmlint, jdupes, fdupes", [], None),
            ],
        ),
    ]


def in_drawer(run):
    """Returns the documents that are on the disk, in this version or in another one."""
    rows = json.loads(run.out)["entries"]
    return {f"docs/{row['a']}" for row in rows if row["a"] and row["class"] != "only-a"}


def processor():
    """Returns the processor seconds of all finished commands."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def once(home, folders, commands, check, binaries):
    """Returns the seconds of the commands in sequence in a fresh folder, and the check's result."""
    with tempfile.TemporaryDirectory(dir=home.root.parent) as work:
        work = Path(work)
        folder = work / "home"
        folder.mkdir()
        for name in folders:
            subprocess.run(["cp", "-a", home.root / name, folder], check=True)
        before = listed(folder)
        found = map(identity, (folder / name for name in before))
        home.inodes = {stat.st_ino: digest for stat, digest in found}
        environment = {
            "PATH": f"{binaries}:{os.environ['PATH']}", "HOME": str(work), "LANG": "C.UTF-8",
        }
        begun, spent = time.monotonic(), processor()
        for command in commands:
            ran = subprocess.run(
                ["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, check=False,
            )
        seconds, spent = time.monotonic() - begun, processor() - spent
        run = Run(home, folder, ran.stdout.decode(errors="replace"), before)
        result = check(run)
        return seconds, spent, result


def row(home, folders, way, binaries):
    program, commands, check = way
    if not commands:
        return f"| {program} | cannot | | | |"
    path = f"{binaries}:{os.environ['PATH']}"
    typed = [shlex.split(command)[0] for command in commands]
    absent = [word for word in typed if not shutil.which(word, path=path)]
    shown = "<br>".join(f"`{command}`".replace("|", "\\|") for command in commands)
    if absent:
        return f"| {program} | {absent[0]} is not installed | | | {shown} |"
    runs = [once(home, folders, commands, check, binaries) for _ in range(ROUNDS)]
    results = collections.Counter(result for _, _, result in runs)
    seconds, spent = (min(run[at] for run in runs) for at in range(2))
    result = " / ".join(results)
    bold = "**" if result.startswith("right") else ""
    return f"| {program} | {bold}{result}{bold} | {seconds:.2f} | {spent:.2f} | {shown} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, default=Path("target/release"))
    parser.add_argument("--work", help="a folder to work in, such as /dev/shm")
    parser.add_argument("--only", help="tasks whose title has this text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        home = Home(Path(work) / "seed")
        for title, asked, folders, ways in tasks(home):
            if options.only and options.only not in title:
                continue
            print(f"\n### {title}\n\n{textwrap.fill(asked, 100, break_on_hyphens=False)}\n")
            print("| program | result | seconds | of a processor | typed |")
            print("|---|---|---|---|---|", flush=True)
            for way in ways:
                print(row(home, folders, way, options.bin.resolve()), flush=True)
        print(f"\nload {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
