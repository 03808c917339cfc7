#!/usr/bin/env python3
"""One pair of files for each way that two files can be related, and each program's answer about it.

    relations.py DIR [RESEMBLE]

makes DIR/a and DIR/b (words drawn from one vocabulary by a fixed seed, so the truth is known) and
prints a Markdown table: `resemble compare` beside diff -rq, git diff -M -C, ssdeep -d and sim_text
-p. Each cell is cut out of the program's real output. Missing programs are left out.
"""

import json
import os
import random
import shutil
import subprocess
import sys

random.seed(2026)
VOCABULARY = ["".join(random.choice("bcdfghklmnprst") + random.choice("aeiou") for _ in range(random.randint(1, 4)))
              for _ in range(3000)]


def paragraph(words=60):
    text = [random.choice(VOCABULARY) for _ in range(words)]
    lines = [" ".join(text[at:at + 10]) for at in range(0, words, 10)]
    return "\n".join(lines) + "\n\n"


def text(paragraphs=40):
    return [paragraph() for _ in range(paragraphs)]


def rewritten(paragraphs, count):
    changed = list(paragraphs)
    for at in random.sample(range(len(changed)), count):
        changed[at] = paragraph()
    return changed


def cases():
    """Returns (truth, {path in a: text}, {path in b: text}, subject's path in a)."""
    one = text()
    yield "moved and renamed, equal bytes", {"eq/report.txt": one}, {"old/1999.txt": one}, "eq/report.txt"
    one = text()
    yield "moved, 5 of 40 paragraphs rewritten", {"ed/plan.txt": one}, {"kept/p.txt": rewritten(one, 5)}, "ed/plan.txt"
    one = text(20)
    yield "same path, 1 of 20 paragraphs rewritten", {"same.txt": one}, {"same.txt": rewritten(one, 1)}, "same.txt"
    one = text()
    shuffled = random.sample(one, len(one))
    yield "moved, same paragraphs in another order", {"sh/list.txt": one}, {"sorted/l.txt": shuffled}, "sh/list.txt"
    one = text(6)
    yield "lies in a large file, unchanged", {"part/note.txt": one}, {"big/all.txt": text(60) + one + text(60)}, "part/note.txt"
    one = text(40)
    yield "split into two files", {"split/book.txt": one}, {"vol/1.txt": one[:20], "vol/2.txt": one[20:]}, "split/book.txt"
    first, second = text(20), text(20)
    yield "merged from two files", {"m/1.txt": first, "m/2.txt": second}, {"merged.txt": first + second}, "m/1.txt"
    one = text(30)
    mail = "".join(f"From {n}@example.org Mon Jan  1 00:00:00 2026\nSubject: {VOCABULARY[n]}\n\n{''.join(text(8))}" for n in range(12))
    half = len(mail) // 2
    box = mail[:half] + "\nFrom x@example.org\nSubject: as promised\n\n" + "".join(one) + mail[half:]
    yield "in a mailbox of other mails", {"att/offer.txt": one}, {"mail/inbox.mbox": [box]}, "att/offer.txt"
    header = text(10)
    yield "only a header of 25 % is shared", {"h/x.txt": header + text(30)}, {"hh/y.txt": header + text(30)}, "h/x.txt"
    yield "unrelated, same vocabulary", {"un/u.txt": text()}, {"unb/v.txt": text()}, "un/u.txt"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", **options)


def last(lines, *needles):
    found = [line for line in lines if all(needle in line for needle in needles)]
    return found[-1] if found else None


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    top, resemble = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "resemble"
    if os.path.exists(top):
        sys.exit(f"{top} exists; name a directory to be made")
    rows = []
    for truth, a, b, asked in cases():
        rows.append((truth, asked, sorted(b)))
        for side, files in (("a", a), ("b", b)):
            for path, paragraphs in files.items():
                where = os.path.join(top, side, path)
                os.makedirs(os.path.dirname(where), exist_ok=True)
                with open(where, "w", encoding="ascii") as out:
                    out.write("".join(paragraphs))
    os.chdir(top)
    env = dict(os.environ, XDG_CACHE_HOME=os.path.join(os.getcwd(), ".cache"))
    said = run(resemble, "--local", "compare", "a", "b", "--format", "json", env=env)
    ours = json.loads(said.stdout)
    diff = run("diff", "-rq", "a", "b").stdout.splitlines()
    git = run("git", "diff", "--no-index", "-M", "-C", "--find-copies-harder", "--name-status", "a", "b").stdout.splitlines()
    have = {name: shutil.which(name) for name in ("ssdeep", "sim_text")}
    files = [os.path.join(folder, name) for side in "ab" for folder, _, names in os.walk(side) for name in sorted(names)]
    ssdeep = run("ssdeep", "-ld", *files).stdout.splitlines() if have["ssdeep"] else []
    sim = run("sim_text", "-p", "-s", *files).stdout.splitlines() if have["sim_text"] else []
    print("| the file of a | `resemble compare` | `diff -rq` | `git -M -C` | `ssdeep -d` | `sim_text -p` |")
    print("|---|---|---|---|---|---|")
    for truth, asked, partners in rows:
        mine = [e for e in ours["entries"] if e["a"] == asked]
        cells = [cell(entry) for entry in mine] or ["nothing"]
        a = "a/" + asked
        plain = last(diff, os.path.basename(asked), "a") or last(diff, "Only in a", asked.split("/")[0])
        word = "silent" if plain is None else "differ" if plain.startswith("Files") else "“Only in a”"
        status = [line.split("\t") for line in git if a in line.split("\t")[1:2] or f"b/{asked}" in line.split("\t")[1:]]
        renames = [line[0] for line in status if line[0][0] in "RC"]
        by_git = ", ".join(renames) or ("M, no score" if any(s[0] == "M" for s in status) else "missed")
        pairs = [line for line in ssdeep if a in line and any("b/" + p in line for p in partners)]
        by_ssdeep = ", ".join(line[line.rindex("(") + 1:-1] for line in pairs) or "nothing"
        pairs = [line for line in sim if line.startswith(a + " ") and any("b/" + p in line for p in partners)]
        by_sim = ", ".join(line.split(" consists for ")[1].split(" of ")[0] for line in pairs) or "nothing"
        print(f"| {truth} | {'; '.join(cells)} | {word} | {by_git} | {by_ssdeep if have['ssdeep'] else '—'} | {by_sim if have['sim_text'] else '—'} |")


def cell(entry):
    def percent(share):
        return "?" if share is None else f"{int(share * 100 + 1e-9)} %"
    if entry["b"] is None:
        return f"`{entry['class']}`"
    if entry["class"] in ("same", "moved"):
        figures = "100 %"
    else:
        figures = f"{percent(entry['a_in_b'])} of it in b, {percent(entry['b_in_a'])} of b in it"
    others = entry.get("others", [])
    also = f", and {len(others)} more: " + ", ".join(percent(o["a_in_b"]) for o in others) if others else ""
    return f"`{entry['class']}` {figures}{also}"


main()
