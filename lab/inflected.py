#!/usr/bin/env python3
"""inflected.py DIR LANGUAGE...: makes DIR/LANGUAGE for `resemble lab eval inflected`.

LANGUAGE is czech, german or polish. Its folder has

  texts       the pages of LibreOffice's help of 2,000 bytes and more, without markup
  lemmas.tsv  basic forms by simplemma (MIT; its tables are from lists under the ODbL and others)
  forms.tsv   basic forms by the suffixes of the dictionary of Hunspell (GPL and others)

Both tables have only words of the texts. Nothing of this is in the repository: packages of Debian
and one of PyPI are downloaded.
"""

import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# The code, the package of the dictionary, and its file.
LANGUAGES = {
    "czech": ("cs", "hunspell-cs", "cs_CZ"),
    "german": ("de", "hunspell-de-de", "de_DE"),
    "polish": ("pl", "hunspell-pl", "pl_PL"),
}


def unpacked(package, folder):
    subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True)
    for archive in Path(folder).glob("*.deb"):
        subprocess.run(["dpkg", "-x", archive, folder], check=True)
        archive.unlink()


def texts(pages):
    for page in sorted(pages.rglob("*.html")):
        body = page.read_text("utf-8").partition("</head>")[2]
        text = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", body, flags=re.S)
        text = re.sub(r"[^\S\n]+", " ", re.sub(r"\s*\n\s*", "\n", html.unescape(text)))
        if len(text.encode()) >= 2000:
            yield page.relative_to(pages).with_suffix(".txt"), text


def suffixes(lines):
    """The rules of each flag: what is removed, what is added, and the end that a word must have."""
    rules = {}
    for parts in map(str.split, lines):
        if len(parts) >= 5 and parts[0] == "SFX":
            removed, added = ("" if part == "0" else part for part in parts[2:4])
            added = added.partition("/")[0]
            rules.setdefault(parts[1], []).append((removed, added, re.compile(parts[4] + "$")))
    return rules


def inflected(base):
    encoding = re.search(rb"^SET (\S+)", base.with_suffix(".aff").read_bytes(), re.M)[1].decode()
    rules = suffixes(base.with_suffix(".aff").read_text(encoding).splitlines())
    for line in base.with_suffix(".dic").read_text(encoding).splitlines()[1:]:
        word, _, flags = line.strip().partition("/")
        yield word, word
        for removed, added, end in (rule for flag in flags for rule in rules.get(flag, ())):
            if word.endswith(removed) and end.search(word):
                yield word[: len(word) - len(removed)] + added, word


def write(path, pairs, known):
    """A word in lower case is preferred: an upper-case one may be a name."""
    basic = {}
    for word, form in sorted(pairs, key=lambda pair: pair[0] != pair[0].lower()):
        if word.lower() in known and form.isalpha():
            basic.setdefault(word.lower(), form.lower())
    path.write_text("".join(f"{a}\t{b}\n" for a, b in sorted(basic.items())), "utf-8")
    print(f"{path}: {len(basic)} words")


def make(to, language, work):
    code, package, dictionary = LANGUAGES[language]
    for one in (f"libreoffice-help-{code}", package):
        unpacked(one, work)
    known = set()
    for name, text in texts(work / "usr/share/libreoffice/help" / code / "text"):
        path = to / language / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        known.update(word.lower() for word in re.findall(r"[^\W\d_]+", text))
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

    lemmas = DefaultDictionaryFactory().get_dictionary(code).items()
    write(to / language / "lemmas.tsv", lemmas, known)
    forms = inflected(work / "usr/share/hunspell" / dictionary)
    write(to / language / "forms.tsv", forms, known)


def main():
    to, languages = Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", work]
            + ["simplemma==2.0.0"],
            check=True,
        )
        sys.path.insert(0, work)
        for language in languages:
            make(to, language, Path(work))


if __name__ == "__main__":
    main()
