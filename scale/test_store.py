#!/usr/bin/env python3
"""Runs the recipes for stores of docs/catalogues.md against an S3 server on this machine.

    test_store.py PROGRAMS

PROGRAMS is the folder of `resemble`. The server is moto's, from the packages of
requirements-store.txt; `aws` is from there, too, and `rclone` is that of the system: without it its
recipes are skipped, which is said. What is sent must come back byte for byte, be joined, and be
refused when it is torn. Exit 1: something was not as it should be.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "catalogues.md"
FILES = 40


def recipes():
    """The lines of the page that send a catalogue to a store, by their programs."""
    lines = re.findall(r"^\$ (resemble catalogue write .*\| (rclone|aws) .*)$", PAGE.read_text(), re.M)
    found = {program: line for line, program in lines}
    assert set(found) == {"rclone", "aws"}, f"{PAGE} has no recipe for both: {found}"
    return found


class Store:
    """An S3 server, and an environment in which programs find it."""

    def __init__(self, home, programs):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        beside = Path(sys.executable).parent
        self.server = subprocess.Popen(
            [beside / "moto_server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}"
        self.environment = {
            "PATH": f"{programs}:{beside}:{os.environ['PATH']}", "HOME": str(home),
            "AWS_ACCESS_KEY_ID": "one", "AWS_SECRET_ACCESS_KEY": "two",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": url,
            "RCLONE_CONFIG_STORE_TYPE": "s3", "RCLONE_CONFIG_STORE_PROVIDER": "Other",
            "RCLONE_CONFIG_STORE_ENV_AUTH": "true", "RCLONE_CONFIG_STORE_ENDPOINT": url,
        }
        self.home = home
        for _ in range(600):
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)
        sys.exit("the S3 server does not start")

    def run(self, line, code=0):
        """Runs a line of a shell; its output."""
        done = subprocess.run(["sh", "-ec", line], cwd=self.home, env=self.environment,
                              capture_output=True)
        if done.returncode != code:
            sys.exit(f"{line}: exit {done.returncode}\n{done.stderr.decode()}")
        return done.stdout


def main():
    programs = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        documents = home / "Documents"
        documents.mkdir()
        for number in range(FILES):
            text = "".join(f"line {line} of {number}\n" for line in range(300))
            (documents / f"{number}.txt").write_text(text)
        store = Store(home, programs)
        try:
            store.run("aws s3 mb s3://catalogues")
            for program, recipe in recipes().items():
                if not shutil.which(program, path=store.environment["PATH"]):
                    print(f"SKIPPED: {program} is not installed", flush=True)
                    continue
                check(store, program, recipe)
        finally:
            store.server.terminate()
            store.server.wait()


def check(store, program, recipe):
    fetch = {"rclone": "rclone cat store:catalogues/", "aws": "aws s3 cp s3://catalogues/"}[program]
    to_output = {"rclone": "", "aws": " -"}[program]

    def fetched(name, as_name):
        store.run(f"{fetch}{name}{to_output} > {as_name}")

    # Without a date the same tree is the same catalogue.
    dated = recipe.replace("resemble catalogue write", "resemble catalogue write --local --label laptop --created 0")
    store.run("resemble catalogue write --local --label laptop --created 0 ~/Documents -o own.cat")
    store.run(dated)
    fetched("laptop.cat", "sent.cat")
    assert (store.home / "sent.cat").read_bytes() == (store.home / "own.cat").read_bytes()

    with (store.home / "Documents" / "3.txt").open("a") as file:
        file.write(f"a line for {program}\n")
    delta = dated.replace("--created 0", "--created 1 --since sent.cat")
    store.run(delta.replace("laptop.cat", "laptop.delta"))
    fetched("laptop.delta", "sent.delta")
    store.run("resemble catalogue join sent.cat sent.delta -o joined.cat")
    store.run("resemble catalogue write --local --label laptop --created 1 ~/Documents -o whole.cat")
    assert (store.home / "joined.cat").read_bytes() == (store.home / "whole.cat").read_bytes()

    # Cut on its way.
    store.run("head -c 200 sent.delta > torn.delta")
    store.run("resemble catalogue join sent.cat torn.delta -o torn.cat", code=2)
    assert not (store.home / "torn.cat").exists()
    print(f"{program}: sent, fetched, joined; torn is refused", flush=True)


if __name__ == "__main__":
    main()
