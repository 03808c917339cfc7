#!/usr/bin/env python3
"""Lists what is linked into the programs: copyright, licence texts and a bill of materials.

    packaging/components.py TARGET OUT

writes OUT/copyright (machine-readable, in Debian's format), OUT/THIRD-PARTY.txt (each licence text
once, with its crates) and OUT/resemble.cdx.json (CycloneDX 1.5). The crates are those that
`cargo tree` names for TARGET, without build dependencies. Equal sources give equal bytes. It fails
if the text of a licence cannot be found.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import textwrap
import time
import tomllib
import uuid
from pathlib import Path

PROGRAMS = ["resemble-cli", "resemble-daemon", "resemble-lab"]

# Debian has these in /usr/share/common-licenses.
COMMON = {"Apache-2.0", "CC0-1.0"}

# The file with the text of a licence, for crates with several files.
FILES = {
    "MIT": r"LICENSE[-_.]MIT(\.md|\.txt)?$",
    "Apache-2.0": r"LICENSE[-_.]APACHE(-?2\.0)?(\.md)?$|LICENSE_A2$",
    "BSD-2-Clause": r"LICENSE-BSD$",
    "BSD-3-Clause": r"LICENSE-(BSD|BSD-3-CLAUSE|WHATWG)$",
    "CC0-1.0": r"LICENSE[-_]CC0$",
    "LLVM-exception": r"LICENSE-APACHE-2\.0_WITH_LLVM-EXCEPTION$|LICENSE_A2LLVM$",
    "MIT-0": r"LICENSE-MIT0$",
    "0BSD": r"LICENSE-0BSD$",
    "Unicode-3.0": r"LICENSE-UNICODE$",
    "Unlicense": r"UNLICENSE$",
    "Zlib": r"LICENSE-ZLIB(\.md)?$",
}

# A phrase of the text itself, so that no licence is mistaken for another.
PHRASES = {
    "BSD-2-Clause": "Redistributions of source code",
    "BSD-3-Clause": "contributors may be used to endorse or promote",
    "BSL-1.0": "Boost Software License",
    "ISC": "Permission to use, copy, modify, and",
    "LLVM-exception": "LLVM Exceptions",
    "MIT": "Permission is hereby granted, free of charge",
    "Zlib": "Altered source versions must be plainly marked",
    "bzip2-1.0.6": "The origin of this software must not be misrepresented",
}

STD = """\
The Rust standard library is linked into every program. It is licensed under either of Apache-2.0 or
MIT, at your option; both texts are below. Its copyright belongs to The Rust Project Developers and
to the authors of the crates it is made of.

The programs of the tarball, and only these, are linked statically with the GNU C Library, which is
under the GNU Lesser General Public License, version 2.1 or later. Its source is what Debian ships as
`glibc`. Everything that is needed to link the programs with another version of it is the source of
resemble: see docs/packaging.md there.
"""


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def linked(target):
    """Returns (name, version) of each crate that is linked, including the project's own."""
    tree = ["tree", "--locked", "--edges", "normal,no-proc-macro", "--target", target]
    for program in PROGRAMS:
        tree += ["-p", program]
    tree += ["--features", "resemble-cli/ui"]
    lines = run("cargo", *tree, "--prefix", "none", "--format", "{p}").splitlines()
    found = set()
    for line in filter(None, lines):
        name, version = line.split()[:2]
        found.add((name, version.removeprefix("v")))
    return found


class Crate:
    def __init__(self, package, checksum):
        self.id = package["id"]
        self.name = package["name"]
        self.version = package["version"]
        self.description = " ".join((package["description"] or "").split())
        self.repository = package["repository"]
        self.authors = package["authors"]
        self.checksum = checksum
        # The form before SPDX had expressions.
        self.license = (package["license"] or "").replace(" / ", "/").replace("/", " OR ")
        self.purl = f"pkg:cargo/{self.name}@{self.version.replace('+', '%2B')}"
        self.texts = {}
        folder = Path(package["manifest_path"]).parent
        names = r"(LICEN[SC]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)"
        for path in sorted(folder.iterdir()):
            files = sorted(path.iterdir()) if path.is_dir() else [path]
            for file in files if re.match(names, path.name, re.I) else []:
                text = file.read_text(encoding="utf-8", errors="replace")
                self.texts[file.name] = text.replace("\r\n", "\n").strip("\n") + "\n"

    def licenses(self):
        """Returns the names in its expression."""
        words = re.sub(r"[()]", " ", self.license).split()
        return [word for word in words if word not in ("AND", "OR", "WITH")]

    def copyright(self):
        lines = []
        for text in self.texts.values():
            for line in text.splitlines():
                line = line.strip(" *#/-\t")
                # Copyright phrases in the text of a licence itself have neither year nor sign.
                if not re.match(r"(Copyright|©).*(\d{4}|\(c\)|©)", line, re.I):
                    continue
                line = re.sub(r"^(Copyright|\(c\)|©|:|\s)+", "", line, flags=re.I)
                if line and line not in lines:
                    lines.append(line)
        return lines or self.authors or [f"the authors of {self.name}"]


def crates_of(target):
    wanted = linked(target)
    metadata = json.loads(
        run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target)
    )
    lock = tomllib.loads(Path("Cargo.lock").read_text())
    sums = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
    ours, others = [], []
    for package in metadata["packages"]:
        key = (package["name"], package["version"])
        if key in wanted:
            crate = Crate(package, sums[key])
            (others if package["source"] else ours).append(crate)
    # Some workspaces ship their text with one crate alone.
    for crate in others:
        same = (o for o in others if o.texts and (o.repository, o.license) == (crate.repository, crate.license))
        if not crate.texts and crate.repository:
            crate.texts = next(same, crate).texts
    by_name = lambda crate: (crate.name, crate.version)
    return sorted(ours, key=by_name), sorted(others, key=by_name), metadata["resolve"]["nodes"]


def text_of(license, crates):
    """Returns the text of a licence, from a crate that has it."""
    phrase = PHRASES.get(license, "")
    for crate in crates:
        if license not in crate.licenses():
            continue
        alone = crate.licenses() == [license]
        for name, text in crate.texts.items():
            named = re.search(FILES.get(license, r"^$"), name, re.I)
            if (named or alone) and phrase in text:
                return text
    sys.exit(f"packaging/components.py: no crate has the text of {license}")


def dep5(expression):
    """Returns a licence expression in Debian's form."""
    expression = re.sub(r"(\S+) WITH (\S+)-exception", r"\1 with \2 exception", expression)
    expression = expression.replace("MIT", "Expat").replace("Expat-0", "MIT-0")
    # `and` binds closer there as well; a comma marks a group before it.
    expression = re.sub(r"\(([^()]*)\) AND", r"\1, AND", expression)
    return expression.replace(" AND ", " and ").replace(" OR ", " or ")


def paragraph(text):
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return "".join(f" {line}\n" if line else " .\n" for line in lines)


def write_copyright(out, ours, crates):
    mine = Path("LICENSE-MIT").read_text()
    holder = re.search(r"Copyright \(c\) (.*)", mine)
    parts = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: resemble\n"
        "Comment: The programs are linked from resemble and from the crates below. Their licence\n"
        " texts, word for word and with all notices, are in THIRD-PARTY.txt beside this file.\n",
        "Files: *\n"
        f"Copyright: {holder.group(1)}\n"
        "License: Expat or Apache-2.0\n",
        "Files: std/*\n"
        "Copyright: The Rust Project Developers\n"
        "License: Expat or Apache-2.0\n",
    ]
    for crate in crates:
        holders = "\n ".join(crate.copyright())
        parts.append(
            f"Files: {crate.name}-{crate.version}/*\n"
            f"Copyright: {holders}\n"
            f"License: {dep5(crate.license)}\n"
        )
    names = {name for crate in crates for name in crate.licenses()} | {"MIT", "Apache-2.0"}
    texts = {}
    for name in sorted(names - {"LLVM-exception"}):
        if name in COMMON:
            texts[name] = f"The text is in /usr/share/common-licenses/{name}.\n"
        elif name == "MIT":
            texts["Expat"] = mine[mine.index("Permission is") :]
        else:
            texts[name] = text_of(name, crates)
    if "LLVM-exception" in names:
        text = text_of("LLVM-exception", crates)
        text = text[text.index("LLVM Exceptions") :].strip("-\n ")
        before = texts["Apache-2.0"] + "\n"
        texts["Apache-2.0 with LLVM exception"] = before + text
    parts += [f"License: {name}\n{paragraph(text)}" for name, text in sorted(texts.items())]
    (out / "copyright").write_text("\n".join(parts))


def write_texts(out, crates):
    standard = Path("LICENSE-MIT").read_text()
    standard = standard[standard.index("Permission is") :]
    whose = {Path("LICENSE-APACHE").read_text(): ["the Rust standard library"]}
    whose[standard] = ["the Rust standard library"]
    for crate in crates:
        who = f"{crate.name} {crate.version}"
        for text in crate.texts.values():
            whose.setdefault(text, []).append(who)
        if not crate.texts:
            # The crate has no licence text; its metadata is all there is.
            if crate.license != "MIT":
                sys.exit(f"packaging/components.py: {who} has no licence text")
            whose[standard].append(f"{who} ({', '.join(crate.authors) or 'no author named'})")
    rule = "=" * 100 + "\n"
    parts = ["What is linked into resemble, resembled and resemble-lab besides their own code.\n\n", STD]
    for text, crates_with in sorted(whose.items(), key=lambda item: (item[1], item[0])):
        names = textwrap.fill(", ".join(sorted(crates_with)), 100, break_on_hyphens=False)
        parts.append(f"\n{rule}{names}\n{rule}\n{text}")
    (out / "THIRD-PARTY.txt").write_text("".join(parts))


def write_sbom(out, target, ours, crates, nodes):
    version = ours[0].version
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    refs = {crate.id: crate.purl for crate in ours + crates}

    def component(crate, kind="library"):
        entry = {"type": kind, "bom-ref": crate.purl, "name": crate.name, "version": crate.version}
        if crate.description:
            entry["description"] = crate.description
        entry["licenses"] = [{"expression": crate.license}]
        entry["purl"] = crate.purl
        if crate.checksum:
            entry["hashes"] = [{"alg": "SHA-256", "content": crate.checksum}]
        if crate.repository:
            entry["externalReferences"] = [{"type": "vcs", "url": crate.repository}]
        return entry

    root = f"resemble@{version}"
    std = {
        "type": "library",
        "bom-ref": "std",
        "name": "std",
        "version": run("rustc", "--version").split()[1],
        "description": "The Rust standard library",
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    }
    edges = {node["id"]: {dep["pkg"] for dep in node["deps"]} for node in nodes}
    dependencies = [
        {"ref": root, "dependsOn": sorted(c.purl for c in ours if c.name in PROGRAMS)},
        {"ref": "std", "dependsOn": []},
    ]
    for crate in ours + crates:
        on = {refs[other] for other in edges[crate.id] if other in refs}
        dependencies.append({"ref": crate.purl, "dependsOn": sorted(on | {"std"})})
    lock = hashlib.sha256(Path("Cargo.lock").read_bytes()).hexdigest()
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{root}/{target}/{epoch}/{lock}')}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "resemble",
                "version": version,
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
                "properties": [{"name": "target", "value": target}],
            },
        },
        "components": [component(crate) for crate in ours + crates] + [std],
        "dependencies": sorted(dependencies, key=lambda entry: entry["ref"]),
    }
    (out / "resemble.cdx.json").write_text(json.dumps(bom, indent=1) + "\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    target, out = sys.argv[1], Path(sys.argv[2])
    os.chdir(Path(__file__).resolve().parent.parent)
    ours, crates, nodes = crates_of(target)
    out.mkdir(parents=True, exist_ok=True)
    write_copyright(out, ours, crates)
    write_texts(out, crates)
    write_sbom(out, target, ours, crates, nodes)
    print(f"{len(crates)} crates of others, {len(ours)} of ours", file=sys.stderr)


main()
