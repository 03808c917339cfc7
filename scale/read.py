#!/usr/bin/env python3
"""Reads the tables of `resemble catalogue write --format parquet` with every engine that is installed.

    read.py TABLES [--require ENGINE,...]

Each engine counts the rows of each table, and adds up the columns that identify contents, names and
postings. All must agree with the tables' own totals, and with each other. Exit 0: they do; 1: they
do not; 2: there was no engine.
"""

import argparse
import sys
from pathlib import Path

TABLES = ["head", "files", "contents", "postings", "parts"]

# Sums that any row changes, of integers that no engine rounds.
SUMS = {
    "files": "SUM(kind), SUM(size % 1000003), COUNT(DISTINCT path), COUNT(cid)",
    "contents": "SUM(cid % 1000003), SUM(size % 1000003), COUNT(DISTINCT digest), COUNT(words)",
    "postings": "SUM(cid % 1000003), SUM(kind), SUM(\"key\" % 1000003), SUM(times)",
    "parts": "SUM(cid % 1000003), SUM(number), COUNT(parent), COUNT(part)",
}


def duckdb(folder):
    import duckdb as engine

    connection = engine.connect()
    def ask(table, what):
        return connection.sql(f"SELECT {what} FROM '{folder}/{table}/*/*.parquet'").fetchall()[0]

    return ask


def datafusion(folder):
    from datafusion import SessionContext

    context = SessionContext()
    for table in TABLES:
        context.register_parquet(table, f"{folder}/{table}/", file_extension=".parquet")

    def ask(table, what):
        batches = context.sql(f"SELECT {what} FROM {table}").collect()
        return tuple(column[0].as_py() for column in batches[0].columns)

    return ask


def spark(folder):
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = session.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    for table in TABLES:
        session.read.parquet(f"{folder}/{table}").createOrReplaceTempView(table)

    def ask(table, what):
        what = what.replace('"key"', "key")
        return tuple(session.sql(f"SELECT {what} FROM {table}").collect()[0])

    return ask


def pandas(folder):
    import pandas as engine

    def of(table):
        return engine.read_parquet(f"{folder}/{table}")

    def remainder(column):
        # As in SQL: with the sign of the number.
        return int((column.abs() % 1000003 * column.map(lambda n: (n > 0) - (n < 0))).sum())

    def ask(table, what):
        rows = of(table)
        if what == "COUNT(*)":
            return (len(rows),)
        if table == "files":
            size = rows["size"].dropna().astype("int64")
            names = rows["path"].nunique()
            return (int(rows["kind"].sum()), remainder(size), names, rows["cid"].count())
        if table == "contents":
            digests = rows["digest"].nunique()
            sums = (remainder(rows["cid"]), remainder(rows["size"]))
            return (*sums, digests, rows["words"].count())
        if table == "postings":
            sums = (remainder(rows["cid"]), int(rows["kind"].sum()))
            return (*sums, remainder(rows["key"]), int(rows["times"].sum()))
        sums = (remainder(rows["cid"]), int(rows["number"].sum()))
        return (*sums, rows["parent"].count(), rows["part"].count())

    return ask


ENGINES = {"duckdb": duckdb, "pandas": pandas, "datafusion": datafusion, "spark": spark}


def number(value):
    return 0 if value is None else int(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=Path)
    parser.add_argument("--require", default="", help="engines that must be installed")
    args = parser.parse_args()
    if not (args.tables / "head").is_dir():
        print(f"{args.tables}: no tables are here; resemble catalogue write writes them", file=sys.stderr)
        return 2
    required = set(filter(None, args.require.split(",")))
    answers = {}
    for name, engine in ENGINES.items():
        try:
            ask = engine(args.tables)
        except ImportError as error:
            print(f"*** NOT ASKED: {name} is not installed ({error}) ***", file=sys.stderr)
            continue
        answer = {table: [number(ask(table, "COUNT(*)")[0])] for table in TABLES}
        said = "SUM(files), SUM(contents), SUM(postings), SUM(parts)"
        if name == "pandas":
            import pandas as engine

            head = engine.read_parquet(args.tables / "head")
            said = [int(head[column].sum()) for column in TABLES[1:]]
        else:
            said = [number(value) for value in ask("head", said)]
        counted = [answer[table][0] for table in TABLES[1:]]
        if said != counted:
            print(f"{name}: the tables say {said}, counted {counted}", file=sys.stderr)
            return 1
        for table, sums in SUMS.items():
            answer[table] += [number(value) for value in ask(table, sums)]
        answers[name] = answer
    missing = required - answers.keys()
    if missing or not answers:
        print(f"not installed: {', '.join(sorted(missing)) or 'any engine'}", file=sys.stderr)
        return 1 if missing else 2
    first = next(iter(answers.values()))
    for name, answer in answers.items():
        print(f"{name}: {answer}")
        if answer != first:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
