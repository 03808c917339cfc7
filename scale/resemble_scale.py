#!/usr/bin/env python3
"""Finds the pairs for `resemble groups --links` with an SQL engine, from the tables of
`resemble catalogue write --format parquet`. docs/scale.md says what they are and why.

    resemble_scale.py TABLES -o OUT --engine duckdb|datafusion|sail|spark
    resemble_scale.py TABLES -o OUT --measure resemble --root LABEL=FOLDER ...

A stage that is complete in OUT is not repeated. Exit 0: OUT is complete; 2: it is not, with the
reason.
"""

import argparse
import glob
import hashlib
import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path

SQL = Path(__file__).resolve().parent / "sql"
TABLES = ["head", "contents", "postings", "parts"]
STAGES = ["posting", "common", "usable", "total", "pair", "judged", "link", "rest"]
# The stages of a run that continues another one, and reuses its results.
STAGES_ONTO = [*STAGES[:3], "change", *STAGES[3:]]
TAKEN = ["usable", "pair"]
# The stages that measure links where the files are. The last is no statement: `measuring` makes it.
STAGES_MEASURED = ["place", "listed", "measured"]
COLUMNS_MEASURED = ["a", "b", "unit", "flags", "a_in_b", "b_in_a", "resemblance", "shared"]
SCHEMA = 1
# Pairs that are measured at a time.
BATCH = 50_000


class Refused(Exception):
    """Explains in a sentence why there are no links, and what to do."""


def number_of(text):
    """Parses a number of bytes: 512M, 4G or a plain number."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    unit = units.get(text[-1:].upper())
    return int(text[:-1]) * unit if unit else int(text)


class DuckDb:
    def __init__(self, args, scratch):
        import duckdb

        self.duckdb = duckdb
        self.connection = duckdb.connect()
        self.run(f"SET memory_limit = '{args.memory >> 20}MiB'")
        self.run(f"SET temp_directory = '{scratch}'")
        self.run("SET preserve_insertion_order = false")
        if args.partitions:
            self.run(f"SET threads = {args.partitions}")

    def run(self, sql):
        return self.connection.execute(sql)

    def ask(self, sql):
        return self.run(sql).fetchall()

    def table(self, name, folder):
        files = f"{folder}/**/*.parquet"
        self.view(name, f"SELECT * FROM read_parquet('{files}', hive_partitioning = true)")

    def view(self, name, sql):
        self.run(f"CREATE OR REPLACE VIEW {name} AS {sql}")

    def make(self, sql, folder):
        os.makedirs(folder)
        form = "FORMAT parquet, COMPRESSION snappy"
        self.run(f"COPY ({sql}) TO '{folder}/part-0.parquet' ({form})")

    def measure(self, name, measured, folder):
        os.makedirs(folder)
        batches = self.connection.sql(f"SELECT * FROM {name}").to_arrow_reader(BATCH)
        write_parquet(measured(batches), f"{folder}/part-0.parquet")

    def stop(self):
        self.connection.close()


class DataFusion:
    def __init__(self, args, scratch):
        from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext

        os.makedirs(scratch, exist_ok=True)
        runtime = RuntimeEnvBuilder().with_disk_manager_specified(scratch)
        runtime = runtime.with_fair_spill_pool(args.memory)
        config = SessionConfig().with_target_partitions(args.partitions or os.cpu_count())
        # Its hash join keeps one side in memory and fails if that does not fit.
        config = config.set("datafusion.optimizer.prefer_hash_join", "false")
        self.context = SessionContext(config, runtime)

    def ask(self, sql):
        batches = self.context.sql(sql).collect()
        rows = [zip(*(column.to_pylist() for column in batch.columns)) for batch in batches]
        return [row for of_batch in rows for row in of_batch]

    def table(self, name, folder):
        self.context.register_parquet(name, f"{folder}/", file_extension=".parquet")

    def view(self, name, sql):
        self.context.sql(f"CREATE OR REPLACE VIEW {name} AS {sql}").collect()

    def make(self, sql, folder):
        os.makedirs(folder)
        made = self.context.sql(sql)
        made.write_parquet(folder, compression="snappy")
        write_if_empty(folder, made.schema)

    def measure(self, name, measured, folder):
        os.makedirs(folder)
        batches = self.context.table(name).execute_stream()
        batches = (batch.to_pyarrow() for batch in batches)
        write_parquet(measured(batches), f"{folder}/part-0.parquet")

    def stop(self):
        pass


class Spark:
    def __init__(self, args, scratch):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("resemble")
        master = self.master(args)
        if master.startswith("sc://"):
            builder = builder.remote(master)
        else:
            builder = builder.master(master) if master else builder
            if master.startswith("local"):
                os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            memory = f"{args.memory >> 20}m"
            for name, value in {
                "spark.driver.memory": memory,
                "spark.executor.memory": memory,
                "spark.local.dir": scratch,
                "spark.ui.enabled": "false",
                "spark.ui.showConsoleProgress": "false",
            }.items():
                builder = builder.config(name, value)
        if args.partitions:
            builder = builder.config("spark.sql.shuffle.partitions", str(args.partitions))
        for setting in args.conf:
            builder = builder.config(*setting.split("=", 1))
        self.session = builder.getOrCreate()

    def master(self, args):
        # spark-submit has its own setting for this.
        submitted = "PYSPARK_GATEWAY_PORT" in os.environ
        return args.master or ("" if submitted else "local[2]")

    def ask(self, sql):
        return [tuple(row) for row in self.session.sql(sql).collect()]

    def table(self, name, folder):
        self.session.read.parquet(str(folder)).createOrReplaceTempView(name)

    def view(self, name, sql):
        self.session.sql(sql).createOrReplaceTempView(name)

    def make(self, sql, folder):
        self.write(self.session.sql(sql), folder)

    def write(self, made, folder):
        made.write.option("compression", "snappy").mode("overwrite").parquet(str(folder))

    def measure(self, name, measured, folder):
        names = ", ".join(f"{column} LONG" for column in COLUMNS_MEASURED)
        self.write(self.session.table(name).mapInArrow(measured, names), folder)

    def stop(self):
        self.session.stop()


class Sail(Spark):
    def master(self, args):
        if args.master:
            return args.master
        from pysail.spark import SparkConnectServer

        self.server = SparkConnectServer("127.0.0.1", 0)
        self.server.start(background=True)
        return f"sc://127.0.0.1:{self.server.listening_address[1]}"

    def write(self, made, folder):
        super().write(made, folder)
        write_if_empty(folder, lambda: made.limit(0).toArrow().schema)


def write_if_empty(folder, schema):
    """Writes a file without rows, if an engine has written none: the next stage needs the
    columns."""
    import pyarrow
    import pyarrow.parquet

    if not glob.glob(f"{folder}/*.parquet"):
        os.makedirs(folder, exist_ok=True)
        empty = pyarrow.Table.from_batches([], schema=schema())
        pyarrow.parquet.write_table(empty, f"{folder}/part-0.parquet")


def write_parquet(batches, file):
    import pyarrow
    import pyarrow.parquet

    columns = [(column, pyarrow.int64()) for column in COLUMNS_MEASURED]
    with pyarrow.parquet.ParquetWriter(file, pyarrow.schema(columns)) as writer:
        for batch in batches:
            writer.write_batch(batch)


def measuring(program, roots):
    """Returns the function by which workers measure the readable pairs of batches of `listed`. It
    is self-contained because it is sent to them.
    """
    roots = [os.fsencode(root) for root in roots]
    names = COLUMNS_MEASURED

    def measured(batches):
        import array
        import subprocess

        import pyarrow
        import pyarrow.compute

        def file(digest, root, path):
            # A file that was exported by itself has no name.
            place = roots[root] + b"/" + path if path else roots[root]
            return b"%b%b\0" % (digest, place)

        for batch in batches:
            rows = zip(*(column.to_pylist() for column in batch.columns[2:]))
            pairs = (file(*row[:3]) + file(*row[3:]) for row in rows)
            ran = subprocess.run([program, "measure"], input=b"".join(pairs), capture_output=True)
            if ran.returncode != 0:
                raise OSError(f"{program} measure: {ran.stderr.decode(errors='replace')}")
            numbers = array.array("q", ran.stdout)
            made = batch.columns[:2]
            made += [pyarrow.array(numbers[at::6], pyarrow.int64()) for at in range(6)]
            made = pyarrow.RecordBatch.from_arrays(made, names=names)
            yield made.filter(pyarrow.compute.greater_equal(made.column(2), 0))

    return measured


ENGINES = {"duckdb": DuckDb, "datafusion": DataFusion, "sail": Sail, "spark": Spark}


def statement(args, name):
    """Returns the text of a stage, without comments."""
    if name == "pair" and args.onto:
        name = "pair-onto"
    found = sorted(args.sql.glob(f"[0-9]-{name}.sql")) or [args.sql / f"{name}.sql"]
    lines = found[0].read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))


def manifests(tables):
    """Returns the tables' own totals; every file of theirs must be complete, and no other
    present."""
    found = sorted((tables / "_manifest").glob("*.json"))
    if not found:
        raise Refused(f"{tables}: no tables are here; resemble catalogue write --format parquet makes them")
    texts, listed = [], set()
    for manifest in found:
        text = manifest.read_bytes()
        texts.append(text)
        for table in json.loads(text)["tables"]:
            file = tables / table["file"]
            listed.add(file)
            if not file.is_file() or file.stat().st_size != table["bytes"]:
                raise Refused(
                    f"{file} is missing or was not copied to its end; copy it again, and "
                    f"{manifest.name} after it"
                )
    for name in TABLES:
        for file in (tables / name).rglob("*.parquet"):
            if file not in listed:
                raise Refused(f"{file} is in no manifest; copy that as well, or remove the file")
    return texts


def checked(engine, tables, texts):
    """Checks that all tables have the same parameters, and returns them."""
    for name in TABLES:
        engine.table(name, tables / name)
    heads = engine.ask("SELECT schema, params, salt, label FROM head")
    for what, at in [("versions of the tables", 0), ("parameters", 1), ("salts", 2)]:
        several = {}
        for head in heads:
            value = head[at] if at != 1 else bytes(head[1]).decode()
            several.setdefault(value, bytes(head[3]).decode())
        if len(several) > 1:
            (one, of_one), (other, of_other) = sorted(several.items(), key=str)[:2]
            raise Refused(
                f"the tables of {of_one} and {of_other} have different {what} ({one}, {other}), "
                "and so nothing in common; export them again with the same"
            )
    schema, params, salt, _ = heads[0]
    if schema != SCHEMA:
        raise Refused(f"the tables have version {schema}, and this program knows {SCHEMA}")
    twice = engine.ask(
        "SELECT cid FROM contents GROUP BY cid"
        " HAVING COUNT(DISTINCT digest) > 1 OR MIN(level) <> MAX(level) LIMIT 1"
    )
    if twice:
        raise Refused(
            f"two contents, or two samples of one, are called {twice[0][0]}; export all tables "
            "again with another --salt, the same for all"
        )
    sums = hashlib.sha256(b"".join(hashlib.sha256(text).digest() for text in texts))
    return {
        "schema": SCHEMA,
        "params": bytes(params).decode(),
        "salt": salt,
        "tables": sums.hexdigest(),
    }


def put(file, value):
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    unfinished.write_text(json.dumps(value, indent=2) + "\n")
    os.replace(unfinished, file)


def files_of(folder):
    files = sorted(folder.glob("*.parquet"))
    return [{"file": file.name, "bytes": file.stat().st_size} for file in files]


def is_complete(out, name):
    record = out / "_stages" / f"{name}.json"
    return record.is_file() and json.loads(record.read_text())["files"] == files_of(out / name)


def begin(out, terms):
    """Continues the run in a folder, or begins one."""
    (out / "_stages").mkdir(parents=True, exist_ok=True)
    run = out / "_run.json"
    if not run.is_file():
        put(run, terms)
    elif json.loads(run.read_text()) != terms:
        raise Refused(
            f"{out} has the stages of other tables or of another degree; name another folder, or "
            "remove it"
        )


def begin_measuring(out, roots):
    """Discards measures if the files are to be found elsewhere."""
    known = out / "_roots.json"
    if known.is_file() and json.loads(known.read_text()) == roots:
        return
    for name in STAGES_MEASURED:
        (out / "_stages" / f"{name}.json").unlink(missing_ok=True)
    put(known, roots)


def go_on_from(engine, before, terms):
    """Adds the tables that a run reuses from another one over fewer tables, or others."""
    run = before / "_run.json"
    if not run.is_file() or not all(is_complete(before, name) for name in TAKEN):
        raise Refused(f"{before}: no complete run is here; make it complete, or leave out --onto")
    known = json.loads(run.read_text())
    differ = [name for name in terms if name != "tables" and known[name] != terms[name]]
    if differ:
        values = f"{known[differ[0]]}, here {terms[differ[0]]}"
        raise Refused(f"{before} has another {differ[0]} ({values}); leave out --onto")
    for name in TAKEN:
        engine.table(f"before_{name}", before / name)


def checked_roots(args, engine, tables):
    """Returns the folders in which workers find files, and a table of the files in them."""
    roots, of_roots = [], []
    for root in args.root:
        label, given, folder = root.partition("=")
        if not (label and given and folder):
            raise Refused(f"--root {root}: give LABEL=FOLDER")
        manifest = tables / "_manifest" / f"{label}.json"
        if not manifest.is_file():
            raise Refused(f"--root {root}: no catalogue of the tables is called {label}")
        listed = json.loads(manifest.read_text())["tables"]
        file = next(table["file"] for table in listed if table["name"] == "files")
        number = len(roots)
        engine.table(f"files_{number}", (tables / file).parent)
        columns = f"CAST({number} AS BIGINT) AS root, path, kind, cid"
        of_roots.append(f"SELECT {columns} FROM files_{number}")
        roots.append(os.path.abspath(folder))
    if not roots:
        raise Refused("--measure wants to know where files are: add --root LABEL=FOLDER")
    engine.view("files", " UNION ALL ".join(of_roots))
    return roots


def make_stage(engine, args, out, name, roots=()):
    begun = time.monotonic()
    making, place = out / "_making" / name, out / name
    for old in [making, place]:
        shutil.rmtree(old, ignore_errors=True)
    making.parent.mkdir(exist_ok=True)
    try:
        if name == "measured":
            engine.measure("listed", measuring(args.measure, roots), str(making))
        else:
            engine.make(statement(args, name), str(making))
    except Exception as error:
        said = str(error).strip().splitlines()
        raise Refused(
            f"{args.engine} failed in the stage {name} ({said[-1] if said else error!r}); give it "
            "more --memory, or fewer --partitions, and run again: what is complete stays"
        ) from error
    os.replace(making, place)
    engine.table(name, place)
    rows = engine.ask(f"SELECT COUNT(*) FROM {name}")[0][0]
    files = files_of(place)
    put(out / "_stages" / f"{name}.json", {"rows": rows, "files": files})
    size, seconds = sum(file["bytes"] for file in files), time.monotonic() - begun
    print(f"{name:8} {rows:12,} rows {size / 1e6:10.1f} MB {seconds:8.1f} s", flush=True)


def tell_unmeasured(out):
    listed, measured = (
        json.loads((out / "_stages" / f"{name}.json").read_text())["rows"]
        for name in ["listed", "measured"]
    )
    if measured < listed:
        print(f"{listed - measured:,} pairs have a file that cannot be read or has changed")


def run(args):
    out = args.out.absolute()
    tables = args.tables.absolute()
    texts = manifests(tables)
    scratch = str(out / "_scratch")
    try:
        engine = ENGINES[args.engine](args, scratch)
    except ImportError as error:
        raise Refused(f"{args.engine} is not installed ({error}); scale/README.md says how")
    try:
        terms = {**checked(engine, tables, texts), "degree": args.degree}
        begin(out, terms)
        engine.view("terms", f"SELECT CAST({args.degree} AS BIGINT) AS degree")
        stages = STAGES
        if args.onto:
            go_on_from(engine, args.onto.absolute(), terms)
            stages = STAGES_ONTO
        roots = []
        if args.measure:
            roots = checked_roots(args, engine, tables)
            begin_measuring(out, args.root)
            stages = stages + STAGES_MEASURED
        is_new = False
        for name in stages:
            # Stages after a repeated stage are repeated as well.
            if not is_new and is_complete(out, name):
                print(f"{name:8} is complete", flush=True)
                engine.table(name, out / name)
                continue
            if not is_new:
                for later in stages[stages.index(name) :]:
                    (out / "_stages" / f"{later}.json").unlink(missing_ok=True)
            is_new = True
            make_stage(engine, args, out, name, roots)
        if args.measure:
            tell_unmeasured(out)
    finally:
        engine.stop()
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(out / "_making", ignore_errors=True)


def engine_arguments(parser):
    """Adds the options of the engine."""
    parser.add_argument("--engine", choices=ENGINES, default="duckdb")
    parser.add_argument("--master", help="of Spark: local[2], spark://…, yarn, sc://…")
    parser.add_argument("--memory", type=number_of, default=2 << 30, metavar="SIZE", help="2G")
    parser.add_argument("--partitions", type=int, help="tasks of a shuffle; threads of DuckDB")
    parser.add_argument("--degree", type=int, default=1000, help="as of `resemble groups`: 1000")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="a setting of Spark"
    )


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tables", type=Path, help="folder of `resemble catalogue write --format parquet`")
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the stages")
    parser.add_argument(
        "--onto", type=Path, metavar="DIR", help="an earlier run over fewer tables: go on from it"
    )
    parser.add_argument(
        "--measure", metavar="PROGRAM", help="measure links on the workers with this `resemble`"
    )
    parser.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="LABEL=FOLDER",
        help="where workers find the files of a catalogue",
    )
    engine_arguments(parser)
    parser.add_argument("--sql", type=Path, default=SQL, help="other statements, for tests")
    return parser


def main():
    begun = time.monotonic()
    try:
        run(arguments().parse_args())
    except Refused as refused:
        print(f"resemble_scale: {refused}", file=sys.stderr)
        return 2
    seconds, used = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_SELF)
    cpu, most = used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3
    print(f"in all {seconds:.1f} s; this process: {cpu:.1f} s of CPU, at most {most:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
