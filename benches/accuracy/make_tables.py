#!/usr/bin/env python3
"""T13: tables and data: CSV, JSON, SQL, logs and base64 whose rows or keys were reordered, dropped, halved or changed.

    make_tables.py TOOLS OUT [--seed 1] [--rows 400] [--bases 4]

The truth by construction (shared_ab, shared_ba) is the share of rows (of bytes for base64) of either that the other has
too, in whatever order rows, keys or columns stand. Strangers have the same columns, keys and names with other values.
"""

import base64
import json

from material import Corpus, Language, arguments

COLUMNS = ("id", "name", "street", "city", "date", "amount", "status", "mail")


def records(random, language, names, count):
    cities, streets, status = names
    out = []
    for _ in range(count):
        first, last = (word.strip(".,:;()\"'").capitalize() for word in language.take(random, 2))
        out.append(
            {
                "id": random.randrange(10**7),
                "name": f"{first} {last}",
                "street": f"{random.choice(streets)} {random.randrange(1, 200)}",
                "city": random.choice(cities),
                "date": f"202{random.randrange(6)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}",
                "amount": f"{random.randrange(10 ** 6) / 100:.2f}",
                "status": random.choice(status),
                "mail": f"{last.lower()}{random.randrange(999)}@example.org",
            }
        )
    return out


def csv(rows, columns=COLUMNS, by=","):
    return (
        "\n".join(
            [by.join(columns)] + [by.join(str(row[column]) for column in columns) for row in rows]
        )
        + "\n"
    )


def jsonl(rows, columns=COLUMNS):
    return "".join(
        json.dumps({column: row[column] for column in columns}, ensure_ascii=False) + "\n"
        for row in rows
    )


def pretty(rows, columns=COLUMNS):
    return (
        json.dumps(
            [{column: row[column] for column in columns} for row in rows],
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )


def sql(rows, columns=COLUMNS):
    head = "INSERT INTO customers (" + ", ".join(columns) + ") VALUES ("
    return (
        "CREATE TABLE customers (id int, name text, street text, city text, day date, amount numeric, status text, mail text);\n"
        + "".join(
            head
            + ", ".join("'" + str(row[column]).replace("'", "''") + "'" for column in columns)
            + ");\n"
            for row in rows
        )
    )


def log(rows):
    out = []
    for at, row in enumerate(sorted(rows, key=lambda row: row["id"])):
        seconds = row["id"] % 86400
        time = f"2026-03-{1 + at * 27 // len(rows):02} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02},{row['id'] % 1000:03}"
        out.append(
            f"{time} {row['status'].upper()} [worker-{row['id'] % 7}] order {row['id']} to {row['city']} took {row['id'] % 977} ms for {row['mail']}\n"
        )
    return out


def short(rows, columns=None):
    """Rows of two values."""
    return "".join(f"{row['id']};{row['amount']}\n" for row in rows)


def listed(rows, columns=None):
    """Rows of one value."""
    return "".join(f"{row['mail']}\n" for row in rows)


def changed(random, rows, percent):
    out = []
    for row in rows:
        out.append(
            dict(row, amount=f"{random.randrange(10 ** 6) / 100:.2f}", status="changed")
            if random.random() < percent / 100
            else row
        )
    return out


def main():
    options = arguments(__doc__, rows=400, bases=4)
    corpus = Corpus(options.tools, options.out)
    language = Language("nl")
    names = corpus.common.rng(options.seed, "T13", "names")
    pool = lambda count: [
        word.strip(".,:;()\"'").capitalize() for word in language.take(names, count)
    ]
    pools = pool(40), pool(80), ["open", "paid", "sent", "late"]
    for number in range(options.bases):
        random = corpus.common.rng(options.seed, "T13", number)
        rows = records(random, language, pools, options.rows)
        shuffled = random.sample(rows, len(rows))
        half, tenth = rows[::2], [row for row in rows if random.random() >= 0.1]
        family = f"{number}"

        def put(name, text):
            corpus.put(name, text.encode() if isinstance(text, str) else text, [family])
            return name

        def related(a, name, text, kind, shared):
            corpus.pair(a, put(name, text), kind, number, shared)

        other_columns = COLUMNS[3:] + COLUMNS[:3]
        edited = changed(random, rows, 10)
        kept = sum(a == b for a, b in zip(rows, edited)) / len(rows)
        for form, write in (("csv", csv), ("jsonl", jsonl), ("json", pretty), ("sql", sql)):
            original = put(f"{form}/{number}-all.{form}", write(rows))
            name = f"{form}/{number}-{{}}.{form}"
            related(
                original, name.format("reordered"), write(shuffled), f"{form} reordered", (1, 1)
            )
            related(
                original,
                name.format("half"),
                write(half),
                f"{form} half",
                (len(half) / len(rows), 1),
            )
            related(
                original,
                name.format("half-reordered"),
                write(shuffled[::2]),
                f"{form} half reordered",
                (len(shuffled[::2]) / len(rows), 1),
            )
            related(
                original,
                name.format("head"),
                write(rows[: len(rows) // 2]),
                f"{form} head",
                (0.5, 1),
            )
            related(
                original,
                name.format("dropped"),
                write(tenth),
                f"{form} dropped",
                (len(tenth) / len(rows), 1),
            )
            related(original, name.format("edited"), write(edited), f"{form} edited", (kept, kept))
            related(
                original,
                name.format("columns"),
                write(rows, other_columns),
                f"{form} columns moved",
                (1, 1),
            )
            related(
                original,
                name.format("narrow"),
                write(rows, COLUMNS[:-2]),
                f"{form} columns dropped",
                (1, 1),
            )
        for form, write in (("short", short), ("list", listed)):
            original = put(f"{form}/{number}-all.csv", write(rows))
            name = f"{form}/{number}-{{}}.csv"
            half_share = (len(half) / len(rows), 1)
            related(
                original, name.format("reordered"), write(shuffled), f"{form} reordered", (1, 1)
            )
            related(original, name.format("half"), write(half), f"{form} half", half_share)
            related(
                original,
                name.format("head"),
                write(rows[: len(rows) // 2]),
                f"{form} head",
                (0.5, 1),
            )
        related(
            f"csv/{number}-all.csv",
            f"csv/{number}-semicolons.csv",
            csv(rows, by=";"),
            "csv semicolons",
            (1, 1),
        )
        related(
            f"json/{number}-all.json",
            f"json/{number}-lines.jsonl",
            jsonl(rows),
            "json to lines",
            (1, 1),
        )
        lines = log(rows)
        original = put(f"log/{number}-all.log", "".join(lines))
        related(
            original,
            f"log/{number}-head.log",
            "".join(lines[: len(lines) // 2]),
            "log head",
            (0.5, 1),
        )
        related(
            original,
            f"log/{number}-tail.log",
            "".join(lines[-len(lines) // 4 :]),
            "log tail",
            (0.25, 1),
        )
        every = lines[::2]
        related(
            original,
            f"log/{number}-every.log",
            "".join(every),
            "log every second",
            (len(every) / len(lines), 1),
        )
        blob = random.randbytes(40_000)
        encoded = base64.b64encode(blob).decode()
        wrap = (
            lambda width, text: "\n".join(
                text[at : at + width] for at in range(0, len(text), width)
            )
            + "\n"
        )
        original = put(f"base64/{number}-76.txt", wrap(76, encoded))
        related(
            original, f"base64/{number}-64.txt", wrap(64, encoded), "base64 wrapped anew", (1, 1)
        )
        related(
            original, f"base64/{number}-60.txt", wrap(60, encoded), "base64 wrapped anew", (1, 1)
        )
        related(original, f"base64/{number}-line.txt", encoded + "\n", "base64 in one line", (1, 1))
        related(
            original,
            f"base64/{number}-half.txt",
            wrap(76, encoded[: len(encoded) // 2]),
            "base64 half",
            (0.5, 1),
        )
        related(
            original,
            f"base64/{number}-half-64.txt",
            wrap(64, encoded[len(encoded) // 2 :]),
            "base64 half wrapped anew",
            (0.5, 1),
        )
    corpus.end()


main()
