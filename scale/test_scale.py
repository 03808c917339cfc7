#!/usr/bin/env python3
"""Every engine gives the answer of one machine, byte for byte, or none: docs/scale.md.

    test_scale.py --resemble target/debug/resemble [--spark PYTHON] [--kill] [--tree DIR ...]

DuckDB and DataFusion must be installed with this Python. Sail runs if it is; Spark runs if PYTHON
has it, and must with RESEMBLE_REQUIRE_SPARK=1. Needs some 100 MB in $TMPDIR.
"""

import argparse
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import made
from resemble_scale import number_of

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent / "docs"
SETS = ["contents", "postings", "parts"]


class Red(Exception):
    """A test that failed."""


class Test:
    def __init__(self, args, folder):
        self.resemble = str(Path(args.resemble).resolve())
        self.spark = args.spark
        self.memory = args.memory
        self.patience = 3600 if args.tree else 900
        self.folder = folder
        home = folder / "home"
        home.mkdir()
        self.env = {name: value for name, value in os.environ.items() if "XDG" not in name}
        self.env |= {"HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SAIL_MODE": "local-cluster"}
        self.catalogues = []
        self.trees = []
        self.oracles = {}
        self.count = 0

    def run(self, *command, status=0):
        ran = subprocess.run(
            [str(part) for part in command],
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            timeout=self.patience,
        )
        if ran.returncode != status:
            said = (ran.stdout[-2000:] + ran.stderr[-4000:]).decode(errors="replace")
            raise Red(f"{command}: exit {ran.returncode} instead of {status}\n{said}")
        return ran

    def ask(self, *more, status=0, of=None):
        of = of or [name.name for name in self.catalogues]
        groups = [self.resemble, "--local", "-q", "groups", *of, "--format", "json"]
        return self.run(*groups, *more, status=status)

    def oracle(self, *more, of=None):
        key = (more, tuple(of or ()))
        if key not in self.oracles:
            self.oracles[key] = self.ask(*more, of=of).stdout
        return self.oracles[key]

    def made(self):
        """Makes the trees, and returns them with the pages of this project."""
        trees = made.hard(self.folder / "trees")
        shutil.copytree(DEMO, self.folder / "trees/docs")
        return [*trees, self.folder / "trees/docs"]

    def tables(self, trees):
        """Returns catalogues and tables of trees."""
        tables = self.folder / "tables"
        for tree in trees:
            label = tree.name
            catalogue = self.folder / f"{label}.cat"
            export = [self.resemble, "--local", "-q", "catalogue", "write", tree, "--label", label]
            self.run(*export, "--within", "100%", "-o", catalogue)
            self.run(*export, "--format", "parquet", "-o", tables)
            self.catalogues.append(catalogue)
        self.trees = trees
        return tables

    def links(self, tables, engine, *more, out=None, status=0, python=None):
        self.count += 1
        out = out or self.folder / f"links-{self.count}"
        python = python or (self.spark if engine == "spark" else sys.executable)
        script = [python, HERE / "resemble_scale.py", tables, "-o", out, "--engine", engine]
        ran = self.run(*script, "--memory", self.memory, *more, status=status)
        if status:
            said = ran.stderr.decode().strip().splitlines()[-1]
            if not said.startswith("resemble_scale: ") or "Traceback" in ran.stderr.decode():
                raise Red(f"{script}: no sentence: {said}")
            return said
        return out

    def same(self, what, out, *more, of=None):
        found = self.ask(*more, "--links", out, of=of).stdout
        expected = self.oracle(*more, of=of)
        if "--memory" in more:
            found, expected = without_pieces(found), without_pieces(expected)
        if found != expected:
            (self.folder / "found.json").write_bytes(found)
            (self.folder / "expected.json").write_bytes(expected)
            raise Red(f"{what}: another answer: {self.folder}/found.json, expected.json")
        print(f"the same bytes: {what}", flush=True)

    def refused(self, what, out, *more):
        said = self.ask(*more, "--links", out, status=2).stderr.decode().strip()
        if len(said.splitlines()) != 1:
            raise Red(f"{what}: no single sentence: {said}")
        print(f"refused: {what}: {said[:160]}", flush=True)

    def of_engine(self, tables, engine, settings):
        """Compares the answer of an engine with the expected one, for all its settings."""
        for more in settings:
            out = self.links(tables, engine, *more)
            self.same(" ".join([engine, *more]), out)
            shutil.rmtree(out)


def without_pieces(answer):
    """Removes the note about data beyond the memory: one of the two compares nothing in pieces.

    The digest at the end covers that note.
    """
    document = json.loads(answer)
    del document["digest"]
    notes = document["summary"]["notes"]
    document["summary"]["notes"] = [note for note in notes if "in the memory given" not in note]
    return json.dumps(document).encode()


def rewrite(tables, change, parts=1):
    """Rewrites the tables with changed rows, in `parts` files that the manifests list."""
    import pyarrow
    import pyarrow.parquet as parquet

    for manifest in (tables / "_manifest").glob("*.json"):
        known = json.loads(manifest.read_text())
        listed = []
        for table in known["tables"]:
            file = tables / table["file"]
            rows = change(table["name"], manifest.stem, parquet.ParquetFile(file).read())
            file.unlink()
            for part in range(parts):
                name = Path(table["file"]).with_name(f"part-{part}.parquet")
                of_part = rows.take(pyarrow.array(range(part, len(rows), parts), pyarrow.int64()))
                parquet.write_table(of_part, tables / name)
                size = (tables / name).stat().st_size
                listed.append({**table, "file": str(name), "bytes": size})
        manifest.write_text(json.dumps({**known, "tables": listed}))
    return tables


def shuffled(name, label, rows):
    import random

    import pyarrow

    order = list(range(len(rows)))
    random.Random(f"{name} {label}").shuffle(order)
    return rows.take(pyarrow.array(order, pyarrow.int64()))


def canaries(test, tables):
    """Errors inside an engine are detected."""
    for what, stage, old, new in [
        ("a cut-off of 999", "2-common", "> MAX(t.degree) THEN", ">= MAX(t.degree) THEN"),
        ("a thinned sample", "1-posting", "FROM postings", "FROM postings WHERE key % 16 <> 3"),
        ("a pair that is lost", "7-link", "= 1", "= 1 AND a % 101 <> 7"),
    ]:
        sql = test.folder / "sql"
        shutil.rmtree(sql, ignore_errors=True)
        shutil.copytree(HERE / "sql", sql)
        change(sql / f"{stage}.sql", old, new)
        test.refused(what, test.links(tables, "duckdb", "--sql", sql))
    sql = test.folder / "sql-ids"
    shutil.copytree(HERE / "sql", sql)
    numbered = "SELECT DENSE_RANK() OVER (ORDER BY cid) AS cid, {} FROM {}"
    (sql / "1-posting.sql").write_text(
        f"SELECT DISTINCT * FROM ({numbered.format('kind, key', 'postings')}) numbered"
    )
    contents = numbered.format("level, size", "contents")
    change(sql / "4-total.sql", "FROM contents", f"FROM ({contents}) numbered")
    test.refused("ids made by the engine", test.links(tables, "duckdb", "--sql", sql))


def change(file, old, new):
    text = file.read_text()
    if text.count(old) != 1:
        raise Red(f"{file.name} has other words than {old!r}")
    file.write_text(text.replace(old, new))


def refusals(test, tables):
    """Invalid input ends in one sentence."""
    import pyarrow

    def head(name, label, rows):
        if name != "head" or label != "server":
            return rows
        params = pyarrow.array([b"tttd-1-2-3-4"], pyarrow.binary())
        return rows.set_column(rows.schema.get_field_index("params"), "params", params)

    def collision(name, label, rows):
        if name != "contents" or label != "server":
            return rows
        digests = rows.column("digest").to_pylist()
        digests[0] = digests[0][:8] + bytes(24)
        column = pyarrow.array(digests, pyarrow.binary())
        forged = rows.set_column(rows.schema.get_field_index("digest"), "digest", column)
        return pyarrow.concat_tables([rows, forged.slice(0, 1).cast(rows.schema)])

    for what, change in [("parameters", head), ("--salt", collision)]:
        other = rewrite(shutil.copytree(tables, test.folder / f"other{what}"), change)
        for engine in ["duckdb", "datafusion"]:
            said = test.links(other, engine, status=2)
            if what not in said:
                raise Red(f"{what} of {engine}: {said}")
            print(f"refused: {said[:160]}", flush=True)
    torn = shutil.copytree(tables, test.folder / "torn")
    postings = torn / "postings/catalogue=server/rows.parquet"
    os.truncate(postings, postings.stat().st_size - 1)
    print(f"refused: {test.links(torn, 'duckdb', status=2)[:160]}", flush=True)


def taken_up(test, tables):
    """A stopped run continues, also with another engine, and repeats incomplete stages."""
    out = test.links(tables, "duckdb")
    before = {stage: (out / stage).stat().st_mtime_ns for stage in ["posting", "common", "usable"]}
    torn = next((out / "total").glob("*.parquet"))
    os.truncate(torn, torn.stat().st_size // 2)
    (out / "_stages/link.json").unlink()
    test.refused("a stage that is not complete", out)
    test.links(tables, "datafusion", out=out)
    after = {stage: (out / stage).stat().st_mtime_ns for stage in before}
    if before != after:
        raise Red("a stage that was complete was made again")
    test.same("a run that was taken up by another engine", out)
    said = test.links(tables, "duckdb", "--degree", "500", out=out, status=2)
    print(f"refused: {said[:160]}", flush=True)
    test.refused("another degree", out, "--degree", "500")
    test.refused("fewer files", out, "--exclude", "notes/00/")
    for lost in ["link", "rest"]:
        kept = shutil.copytree(out, test.folder / f"without-{lost}")
        next((kept / lost).glob("*.parquet")).unlink()
        test.refused(f"a file of {lost} that is lost", kept)
    shutil.rmtree(out)


def measured(test, tables):
    """Links measured where the files are give the answer of a reader of the files, with every
    engine. Catalogues alone show the same measured figures; wrong figures are detected.
    """
    import pyarrow
    import pyarrow.parquet as parquet

    roots = [option for tree in test.trees for option in ("--root", f"{tree.name}={tree}")]
    options = ["--measure", test.resemble, *roots]
    if test.oracle(of=test.trees) == test.oracle():
        raise Red("what is read and what is estimated come to the same: use another set")
    folders = {}
    for engine in engines_here(test):
        folders[engine] = test.links(tables, engine, *options)
        rows = json.loads((folders[engine] / "_stages/measured.json").read_text())["rows"]
        listed = json.loads((folders[engine] / "_stages/listed.json").read_text())["rows"]
        if rows == 0 or rows != listed:
            raise Red(f"{engine}: {rows} of {listed} pairs are measured")
        what = f"{engine}, {rows:,} pairs measured on workers"
        test.same(what, folders[engine], of=test.trees)
    answers = {test.ask("--links", folder).stdout for folder in folders.values()}
    if len(answers) != 1 or test.oracle() in answers:
        raise Red("catalogues alone: engines differ, or the measures make no difference")
    proven = json.loads(answers.pop())["summary"]
    print(f"the same bytes: catalogues alone, measured by each engine: {proven}", flush=True)
    out = folders["duckdb"]
    file = next((out / "measured").glob("*.parquet"))
    rows = parquet.read_table(file)
    at = rows.schema.get_field_index("shared")
    more = pyarrow.array([value + 1 for value in rows.column("shared").to_pylist()])
    parquet.write_table(rows.set_column(at, "shared", more), file)
    stage = out / "_stages/measured.json"
    known = json.loads(stage.read_text())
    known["files"][0]["bytes"] = file.stat().st_size
    stage.write_text(json.dumps(known))
    said = test.ask("--links", out, of=test.trees, status=2).stderr.decode().strip()
    if len(said.splitlines()) != 1 or "other figures" not in said:
        raise Red(f"wrong figures: {said}")
    print(f"refused: {said[:160]}", flush=True)
    for wrong in [["--root", "nobody=/"], ["--root", "docs"], []]:
        said = test.links(tables, "duckdb", "--measure", test.resemble, *wrong, status=2)
        print(f"refused: {said[:160]}", flush=True)


def engines_here(test):
    """Returns the installed engines."""
    here = ["duckdb", "datafusion"]
    here += ["sail"] if importlib.util.find_spec("pysail") else []
    return here + (["spark"] if has_spark(test.spark) else [])


def children(of):
    """Returns the descendants of a process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == of:
            own = int(stat.parent.name)
            found += [own, *children(own)]
    return found


def killed(test, tables):
    """A worker and its executor die while pairs are found; the other one takes over their work."""
    where = "import os, pyspark; print(os.path.dirname(pyspark.__file__))"
    home = test.run(test.spark, "-c", where).stdout.decode().strip()
    port = 17077
    env = {**test.env, "SPARK_HOME": home, "PYSPARK_PYTHON": test.spark}
    log = (test.folder / "spark.log").open("wb")

    def start(name, *args):
        command = [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{name}", *args]
        return subprocess.Popen(command, env=env, cwd=test.folder, stdout=log, stderr=log)

    ours = [start("master.Master", "--host", "127.0.0.1", "--port", str(port))]
    try:
        time.sleep(8)
        master = f"spark://127.0.0.1:{port}"
        for number in range(2):
            place = test.folder / f"worker-{number}"
            room = f"{number_of(test.memory) * 3 // 2 >> 20}M"
            ours.append(start("worker.Worker", "-c", "1", "-m", room, "-d", str(place), master))
        time.sleep(8)
        out = test.folder / "links-killed"
        script = [test.spark, "-u", HERE / "resemble_scale.py", tables, "-o", out]
        script += ["--engine", "spark", "--master", master, "--memory", test.memory]
        script += ["--partitions", "24"]
        script += ["--conf", "spark.driver.host=127.0.0.1"]
        command = [str(part) for part in script]
        pipe = subprocess.PIPE
        run = subprocess.Popen(command, env=env, cwd=test.folder, stdout=pipe, stderr=log)
        lines = []
        for line in run.stdout:
            lines.append(line.decode())
            if line.startswith(b"total"):
                time.sleep(2)
                workers = children(ours[1].pid)
                if len(workers) < 1:
                    raise Red("the worker has no executor")
                for pid in [ours[1].pid, *workers]:
                    os.kill(pid, signal.SIGKILL)
                print(f"killed a worker and its {len(workers)} processes", flush=True)
                if (out / "pair").exists():
                    raise Red("the pairs were found before the worker was killed: use a larger set")
        if run.wait() != 0:
            raise Red(f"exit {run.returncode}: {''.join(lines)}{test.folder}/spark.log")
        test.same("Spark standalone, a worker and its executor killed while pairs are found", out)
    finally:
        for process in ours:
            for pid in [process.pid, *children(process.pid)]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.wait()


def has_spark(python):
    if python is None:
        return False
    ran = subprocess.run([python, "-c", "import pyspark.sql; pyspark.SparkContext"], check=False)
    return ran.returncode == 0 and shutil.which("java") is not None


def engines(test, tables, mixed, questions=()):
    """Every engine with every setting gives the same answer, for any order of rows and files."""
    partitions = [("--partitions", str(count)) for count in (1, 7, 200)]
    test.of_engine(tables, "duckdb", [(), ("--partitions", "1")])
    # Each partition of DataFusion takes its share of the memory, and needs some megabytes.
    test.of_engine(tables, "datafusion", [(), *partitions[:2], (*partitions[2], "--memory", "8G")])
    for engine in ["duckdb", "datafusion"]:
        out = test.links(mixed, engine)
        test.same(f"{engine}, shuffled rows in five files", out)
        for more in questions:
            test.same(f"{engine} {' '.join(more)}", out, *more)
        shutil.rmtree(out)
    if importlib.util.find_spec("pysail"):
        test.of_engine(tables, "sail", [(), *partitions])
    else:
        print("*** NOT TESTED: pysail is not installed ***", file=sys.stderr)
    if has_spark(test.spark):
        adaptive = "spark.sql.adaptive.enabled"
        adaptive = [("--conf", f"{adaptive}={is_on}") for is_on in ("true", "false")]
        test.of_engine(tables, "spark", [*adaptive, *partitions])
        test.of_engine(mixed, "spark", [()])
    elif os.environ.get("RESEMBLE_REQUIRE_SPARK") == "1":
        raise Red("Spark is not there, and RESEMBLE_REQUIRE_SPARK=1")
    else:
        print("*** NOT TESTED: Apache Spark (--spark PYTHON and Java) ***", file=sys.stderr)


def tests(args, folder):
    test = Test(args, folder)
    tables = test.tables([tree.resolve() for tree in args.tree] or test.made())
    print(f"one machine: {len(test.oracle()):,} bytes", flush=True)
    mixed = rewrite(shutil.copytree(tables, folder / "mixed"), shuffled, parts=5)
    if args.tree:
        engines(test, tables, mixed)
    else:
        test.of_engine(tables, "duckdb", [("--memory", "300M")])
        questions = [("--memory", "1M"), ("--only", "near"), ("--min", "60%")]
        engines(test, tables, mixed, questions)
        taken_up(test, tables)
        refusals(test, tables)
        canaries(test, tables)
        measured(test, tables)
    if args.kill and has_spark(args.spark):
        killed(test, tables)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--resemble", required=True, help="the program")
    parser.add_argument("--spark", help="a Python with pyspark")
    parser.add_argument("--kill", action="store_true", help="kill a worker of Spark as well")
    parser.add_argument("--memory", default="1G", help="of each engine: 1G")
    parser.add_argument(
        "--tree", action="append", type=Path, default=[], help="the engines on this, instead"
    )
    parser.add_argument("--keep", type=Path, help="work here, and leave it")
    args = parser.parse_args()
    begun = time.monotonic()
    folder = args.keep or Path(tempfile.mkdtemp(prefix="resemble-scale-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        tests(args, folder.resolve())
    except Red as red:
        print(f"RED: {red}", file=sys.stderr)
        return 1
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"all is well, {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
