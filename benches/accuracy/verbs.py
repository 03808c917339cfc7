"""The table of one task over all verbs."""

import json
import os
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path

import asking
import material
import scoring

PACKED = (".gz", ".zip", ".xz", ".bz2")
ALERTED = (
    14  # relatives and strangers that arrive; at most 30 alerts are raised in a minute
)
ASKED = 1600  # most files of a folder that are subjects


def lines(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def sides(names, truth):
    """Returns two folders to compare: the corpus's a and b, else the related files and their
    first."""
    if all(name.startswith(("a/", "b/")) for name in names):
        return [name for name in names if name.startswith("a/")], [
            name for name in names if name.startswith("b/")
        ]
    right = {row["file_b"] for row in truth.values()} - {row["file_a"] for row in truth.values()}
    return [name for name in names if name not in right], [name for name in names if name in right]


def strongest(row):
    measures = ("cov", "long", "shared")
    return max(
        float(row[f"{measure}_{way}" + ("_w5" if measure == "cov" else "")])
        for measure in measures
        for way in ("ab", "ba")
    )


def arrivals(one, other, truth, families, random):
    """Returns the present files, and those that arrive later: relatives and strangers."""
    own = [name for name in one if len(families.get(name, ())) == 1]
    named = sorted({family for name in own for family in families[name]})
    unseen = set(random.sample(named, min(ALERTED, len(named) // 3)))
    old = [name for name in one if not families.get(name, set()) & unseen]
    strangers = {}
    for name in own:
        for family in families[name] & unseen:
            strangers.setdefault(family, name)
    here = set(old)
    close = sorted(
        {
            name
            for key, row in truth.items()
            if strongest(row) >= 0.85
            for name in key
            if name in set(other) and set(key) & here
        }
    )
    return old, (set(random.sample(close, min(ALERTED, len(close)))), set(strangers.values()))


def table(tools, corpus, binary, most=ASKED, log=sys.stderr, faults=None):
    """Returns Markdown about every verb on a corpus with files/, truth.tsv and families.tsv."""
    corpus = Path(corpus).resolve()
    common = material.common(tools)
    top = corpus / "files"
    head, *rows = lines(corpus / "truth.tsv")
    truth = {tuple(sorted(row[:2])): dict(zip(head, row)) for row in rows}
    every = truth
    # Of natural texts only resemblances of a half are known; less may be related or not.
    natural = not (corpus / "families.tsv").exists()
    if natural:
        truth = {key: row for key, row in truth.items() if float(row["res_w5"]) >= 0.5}
    else:
        truth = {key: row for key, row in truth.items() if strongest(row) >= scoring.FOUND}
    names = sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.is_file())
    families = {name: {"all"} if natural else {name} for name in names}
    if not natural:
        families = {
            row[0]: set(row[1].split(",")) for row in lines(corpus / "families.tsv") if len(row) > 1
        }
    seeded = random.Random(1)
    asked = names
    if len(names) > most:
        known = sorted({name for key in truth for name in key} & set(names))
        chosen = seeded.sample(known, min(most, len(known)))
        rest = sorted(set(names) - set(chosen))
        asked = sorted(chosen + seeded.sample(rest, min(most - len(chosen), len(rest))))
    if (corpus / "texts").exists() or any(
        name.endswith((".zip", ".eml", ".docx")) for name in names
    ):
        text = True
    else:
        text = False
    one, other = sides(names, truth)
    questions = asking.Asked(binary, top, text)
    say = lambda what: print(f"{corpus.name}: {what}", file=log, flush=True)
    say("pairs")
    questions.timed("pairs", questions.pairs)
    say("groups")
    questions.timed("groups", questions.groups)
    old, arriving = arrivals(one, other, truth, families, seeded)
    say("compare")
    questions.compare(one, other)
    say("find, .similar, alerts")
    questions.daemon(asked, (old, sorted(arriving[0] | arriving[1])) if arriving[0] else None)
    if not text:
        # This truth does not cover pages inside compressed manuals.
        for verb, answers in questions.answers.items():
            questions.answers[verb] = [
                row
                for row in answers
                if not (row.a + row.b).endswith(PACKED) and not row.a.endswith(PACKED)
            ]
    exact = scoring.Exact(common, corpus)
    units = {(row.a, row.b): (row.unit, row.layer) for row in questions.answers["find"]}
    within = set(asked)
    told = {key: row for key, row in truth.items() if key[0] in within or key[1] in within}
    out = [
        "| verb | seconds | rows | strangers (over .05) | found | of all, at ≤ 1 stranger | AP (by question, in order) | proven rows off (checked) | MAE proven | estimates, MAE | other figures than `find` |",
        "|---" * 11 + "|",
    ]
    scored = {}
    for verb in ("find", ".similar", "groups", "compare", "pairs", "alerts"):
        if verb not in questions.answers:
            continue
        answers = questions.answers[verb]
        positives = told if verb in ("find", ".similar") else truth
        scored[verb] = judged = scoring.Scored(
            answers, positives, families, exact, units, random.Random(2)
        )
        found = f"{len(judged.found)} of {len(positives)}"
        if verb == "groups":
            cluster = {
                name: number
                for number, members in enumerate(questions.clusters)
                for name in members
            }
            together = sum(
                key[0] in cluster and cluster.get(key[0]) == cluster.get(key[1]) for key in truth
            )
            found += f" linked, {together} in one cluster"
        if verb == "compare":
            kin = {name for key in truth for name in key} & set(other)
            met = {name for key in judged.rows if key not in judged.false for name in key}
            found = f"{len(kin & met)} of {len(kin)} files"
        if verb == "alerts":
            found = f"{len(arriving[0] & questions.alerted)} of {len(arriving[0])} relatives, {len(arriving[1] & questions.alerted)} of {len(arriving[1])} strangers"
        of = {key for key in every if positives is truth or key[0] in within or key[1] in within}
        strict = (
            f"{judged.strict(of):.3f}" if verb in ("find", ".similar", "groups", "pairs") else "–"
        )
        ap = f"{judged.ap:.3f}" if verb in ("find", ".similar", "groups", "pairs") else "–"
        if verb == "find":
            judged.asked = within
            ap += f" ({judged.by_question(truth):.3f})"
        against = scoring.contradictions(judged.rows, scored["find"].rows) if verb != "find" else []
        cells = judged.cells()
        if natural:
            cells[1], strict, ap = "–", "–", "–"
        out.append(
            f"| {verb} | {questions.seconds.get(verb, 0):.1f} | {cells[0]} | {cells[1]} | {found} | {strict} | {ap} | "
            + " | ".join(cells[2:])
            + f" | {len(against)} |"
        )
        if faults is not None:
            faults += [
                (verb, "false", key, row.score)
                for key, row in sorted(judged.false.items(), key=lambda item: -item[1].score)[:3]
            ]
            faults += [
                (verb, "off", off, row, right)
                for off, row, right in sorted(judged.wrong, key=lambda item: -item[0])[:3]
            ]
            faults += [(verb, "contradicts find", *each) for each in against[:3]]
    out += ["", *questions.notes]
    shown = {
        verb: {key for key in scored[verb].found}
        for verb in ("find", ".similar", "groups", "pairs")
    }
    kinds = {
        kind: shares
        for kind, shares in scoring.by_kind(told, shown).items()
        if min(shares[:-1]) < 0.995
    }
    if kinds:
        out += [
            "",
            "| kind | pairs | " + " | ".join(shown) + " |",
            "|---" * (len(shown) + 2) + "|",
        ]
        out += [
            f"| {kind} | {shares[-1]} | "
            + " | ".join(f"{share:.3f}" for share in shares[:-1])
            + " |"
            for kind, shares in kinds.items()
        ]
    return out


def quotations(corpus, binary):
    """T12: counts how often the quoted file is the first row of `find EXTRACT --in FOLDER`, or
    any."""
    corpus = Path(corpus).resolve()
    asked = lines(corpus / "queries.tsv")[1:]
    questions = asking.Asked(binary, corpus / "files", True)
    said = "".join(f"{corpus}/queries/{query[0]}\n" for query in asked)
    begin = time.monotonic()
    answers = [
        json.loads(line)
        for line in questions.run(
            "--local", "find", "--all", "--files-from", "-", "--in", ".", "--format", "jsonl", said=said
        ).splitlines()[1:]
    ]
    seconds = time.monotonic() - begin
    rows = {}
    for answer in answers:
        if "path" in answer and "relation" in answer:
            rows.setdefault(Path(answer["file"]).name, []).append(os.path.normpath(answer["path"]))
    found = {}
    for query, source, length, size, how in asked:
        listed = rows.get(query, [])
        found.setdefault((int(size), how), {}).setdefault(int(length), []).append(
            (listed[:1] == [source], source in listed)
        )
    lengths = sorted({int(query[2]) for query in asked})
    yield "| text of | extract stands | " + " | ".join(
        f"{length} bytes" for length in lengths
    ) + " |"
    yield "|---" * (len(lengths) + 2) + "|"
    share = lambda values, at: sum(value[at] for value in values) / len(values)
    for (size, how), by_length in sorted(found.items()):
        cells = [
            (
                f"{share(by_length[length], 0):.2f} ({share(by_length[length], 1):.2f})"
                if length in by_length
                else "–"
            )
            for length in lengths
        ]
        yield f"| {size:,} bytes | {how} | " + " | ".join(cells) + " |"
    yield ""
    yield "A cell has the share of extracts whose source is in the first row and, in brackets, in any row."
    yield f"One command asked {len(asked)} questions in {seconds:.1f} s, without a cache."


def family(corpus, binary):
    """T10: tests `groups` and `find` on a family of near-copies among strangers."""
    corpus = Path(corpus).resolve()
    copies = [row[0] for row in lines(corpus / "families.tsv")[1:] if row[1] == "page"]
    questions = asking.Asked(binary, corpus / "files", False)
    begin = time.monotonic()
    rows = questions.groups()
    seconds = time.monotonic() - begin
    cluster = {
        name: number for number, members in enumerate(questions.clusters) for name in members
    }
    counts = Counter(cluster.get(name) for name in copies)
    alone = counts.pop(None, 0)
    of = {name: "page" for name in copies}
    strangers = sum(of.get(row.a) != of.get(row.b) or row.a not in of for row in rows)
    asked = random.Random(3).sample(copies, min(20, len(copies)))
    begin = time.monotonic()
    answers = questions.run(
        "--local",
        "find",
        "--files-from",
        "-",
        "--in",
        ".",
        "--format",
        "tsv",
        said="".join(f"{name}\n" for name in asked),
    ).splitlines()
    found = Counter(answer.split("\t")[0] for answer in answers)
    least = min((found[name] for name in asked), default=0)
    return (
        f"| {len(copies):,} | {seconds:.1f} | {len(counts)} | {max(counts.values(), default=0):,} | {alone:,} | {strangers} | "
        f"{time.monotonic() - begin:.1f} | {least:,} |"
    )


FAMILY_HEAD = [
    "| copies | `groups`: seconds | clusters with copies | largest | copies in none | links to strangers | `find` of 20: seconds | fewest rows |",
    "|---" * 8 + "|",
]


def report(tools, corpora, binary, only=None, most=ASKED):
    """Returns Markdown about all corpora: a table over the verbs for each, and those of T10 and
    T12."""
    out, families = [], []
    folders = sorted(
        (
            folder
            for folder in Path(corpora).iterdir()
            if folder.is_dir() and re.match(r"T\d", folder.name)
        ),
        key=lambda folder: (int(re.match(r"T(\d+)", folder.name)[1]), folder.name),
    )
    for folder in folders:
        if only and folder.name not in only.split(","):
            continue
        parts = (
            [folder]
            if (folder / "files").exists()
            else sorted(part for part in folder.iterdir() if (part / "files").exists())
        )
        for part in parts:
            title = folder.name if part == folder else f"{folder.name}, {part.name}"
            if (part / "queries.tsv").exists():
                out += [f"### {title}", "", *quotations(part, binary), ""]
            elif re.fullmatch(r"f\d+", part.name):
                print(title, file=sys.stderr, flush=True)
                families.append((int(part.name[1:]), folder.name, family(part, binary)))
            elif (part / "truth.tsv").exists():
                out += [f"### {title}", "", *table(tools, part, binary, most), ""]
    if families:
        out += [
            "### T10, families of near-copies",
            "",
            *FAMILY_HEAD,
            *[line for _, _, line in sorted(families)],
            "",
        ]
    return out
