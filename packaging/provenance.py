#!/usr/bin/env python3
"""Writes the provenance of released files: an in-toto statement with a predicate of SLSA 1.

    packaging/provenance.py FOLDER VERSION COMMIT >provenance.json

FOLDER holds the files and the bill of materials. All facts are those of git, rustc and cargo; there
is no time and no path of the machine, so equal builds have equal statements.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

# Names nobody else can own: the project has no domain.
NAMES = "https://resemble.invalid"


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def digest(path):
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def crates(bom):
    """The crates of others that are linked, with their check sums."""
    for component in bom["components"]:
        for entry in component.get("hashes", []):
            yield {"uri": component["purl"], "digest": {"sha256": entry["content"]}}


def statement(folder, version, commit):
    files = sorted(path for path in folder.iterdir() if path.is_file())
    bom = json.loads((folder / f"resemble-{version}.cdx.json").read_text())
    source = {"uri": "git+" + f"{NAMES}/resemble@{commit}", "digest": {"gitCommit": commit}}
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": digest(path)} for path in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{NAMES}/packaging/release/v1",
                "externalParameters": {"source": source["uri"], "version": version},
                "internalParameters": {
                    "profile": "dist",
                    "rustc": run("rustc", "--version"),
                    "cargo": run("cargo", "--version"),
                    "libc": run("ldd", "--version").splitlines()[0],
                    "sourceDateEpoch": run("git", "log", "-1", "--format=%ct", commit),
                },
                "resolvedDependencies": [source, *crates(bom)],
            },
            "runDetails": {"builder": {"id": f"{NAMES}/builder/local"}},
        },
    }


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    json.dump(statement(Path(sys.argv[1]), *sys.argv[2:]), sys.stdout, indent=1)
    print()


main()
