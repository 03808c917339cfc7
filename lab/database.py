#!/usr/bin/env python3
"""database.py FOLDER: the prototype of Kasprzak et al. 2008, section 3.1, in SQLite.

The tables are those of the paper: a dictionary, chunks as the numbers of five words, an index from
a chunk to its documents and one from a document to its chunks. Texts are read from standard input,
one a line, of words in lower case with a blank between them:

    cargo run --release -p resemble-lab --example scale -- theses WORDS TEXTS | lab/database.py FOLDER

Pairs of the last 1,000 documents with earlier ones are found by a query for each. Results are
printed as a table of `lab/results`.
"""

import sqlite3
import sys
import time
from pathlib import Path

# As in `lab/lab/src/eval/kasprzak/scale.rs`.
LAST = 1000
THRESHOLD = 0.01

SEARCH = """
SELECT other.document, count(*)
FROM chunk AS own INDEXED BY of_document
JOIN chunk AS other INDEXED BY of_chunk
  ON (other.a, other.b, other.c, other.d, other.e) = (own.a, own.b, own.c, own.d, own.e)
WHERE own.document = ?1 AND other.document < ?1
GROUP BY other.document
"""


def chunks(numbers, text):
    """Returns the distinct chunks of a text: five words in a row, sorted by their numbers."""
    words = [numbers.setdefault(word, len(numbers)) for word in text.split()]
    return {tuple(sorted(words[at : at + 5])) for at in range(len(words) - 4)}


def main(folder):
    path = Path(folder) / "prototype.db"
    path.unlink(missing_ok=True)
    base = sqlite3.connect(path, isolation_level=None)
    for pragma in ("page_size = 8192", "journal_mode = OFF", "synchronous = OFF", "cache_size = -1000000"):
        base.execute(f"PRAGMA {pragma}")
    base.execute("PRAGMA temp_store_directory = '%s'" % folder)
    base.execute("CREATE TABLE chunk (document INTEGER, a INTEGER, b INTEGER, c INTEGER, d INTEGER, e INTEGER)")
    base.execute("CREATE TABLE dictionary (id INTEGER PRIMARY KEY, word TEXT UNIQUE)")
    base.execute("CREATE TABLE similarity (a INTEGER, b INTEGER, a_in_b REAL, b_in_a REAL)")
    clocks = {"chunks": 0.0, "tables": 0.0, "search": 0.0}
    rows, bytes_before = [], [0]

    def timed(step, run):
        before = time.process_time()
        done = run()
        clocks[step] += time.process_time() - before
        return done

    def grown(what):
        size = path.stat().st_size
        rows.append((f"database: bytes of {what}", size - bytes_before[0]))
        bytes_before[0] = size

    numbers, totals = {}, []
    base.execute("BEGIN")
    for text in sys.stdin:
        found = timed("chunks", lambda: chunks(numbers, text))
        document = len(totals)
        totals.append(len(found))
        put = [(document, *chunk) for chunk in found]
        timed("tables", lambda: base.executemany("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?)", put))
    base.execute("COMMIT")
    grown("the chunk table")
    timed("tables", lambda: base.execute("CREATE INDEX of_chunk ON chunk (a, b, c, d, e, document)"))
    grown("the index by chunk")
    timed("tables", lambda: base.execute("CREATE INDEX of_document ON chunk (document)"))
    grown("the index by document")
    base.execute("BEGIN")
    base.executemany("INSERT INTO dictionary VALUES (?, ?)", ((id, word) for word, id in numbers.items()))
    base.execute("COMMIT")
    grown("the dictionary")

    def search(document):
        for other, common in base.execute(SEARCH, (document,)).fetchall():
            shares = [common / totals[one] for one in (document, other)]
            if max(shares) >= THRESHOLD:
                base.execute("INSERT INTO similarity VALUES (?, ?, ?, ?)", (document, other, *shares))

    last = range(max(len(totals) - LAST, 0), len(totals))
    wall = time.monotonic()
    base.execute("BEGIN")
    for document in last:
        timed("search", lambda: search(document))
    base.execute("COMMIT")
    wall = time.monotonic() - wall

    pairs = sum(totals)
    size = path.stat().st_size
    (similar,) = base.execute("SELECT count(*) FROM similarity").fetchone()
    rows += [
        ("database: (chunk, document) pairs", pairs),
        ("database: bytes of a pair", f"{size / pairs:.1f}"),
        ("database: pairs of the last documents", similar),
        ("database: search, wall s", f"{wall:.1f}"),
    ]
    for step, seconds in clocks.items():
        documents = len(last) if step == "search" else len(totals)
        rows.append((f"database: {step}, processor s", f"{seconds:.1f}"))
        rows.append((f"database: {step}, documents/h", f"{documents / seconds * 3600:.0f}"))
    print("# kasprzak/database\n\there")
    for what, here in rows:
        print(f"{what}\t{here}")
    print()
    base.close()
    path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
