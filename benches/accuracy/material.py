"""Shared code for making corpora: texts in many languages, edits of them, and the truth about them.

Texts are built from the translated messages (gettext) of this machine. A text follows a message for
a few words and then continues in another. So it has the words, frequencies and script of its
language, and two texts share runs of five words only by chance. All choices come from seeds.
"""

import argparse
import gettext
import os
import re
import sys
import unicodedata
from pathlib import Path

LOCALES = Path("/usr/share/locale")
MESSAGES = 700_000  # characters of messages that are enough for a language
FOLLOW = 0.3  # probability that the next word follows in its message
MARKS = re.compile(r"[%<>{}\\|@=\[\]_&~`^*#$\0-\x08\x0b-\x1f]|--|\w*://")
WIDE = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)


def common(tools):
    """Returns the module of definitions in the folder of the scoring programs."""
    sys.path.insert(0, str(Path(tools).resolve()))
    import common as module

    return module


def arguments(doc, **more):
    """Parses the options of every maker; `more` are options of one, with their defaults."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tools", help="the folder with common.py")
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    for name, default in more.items():
        kind = type(default) if default is not None else str
        parser.add_argument("--" + name.replace("_", "-"), type=kind, default=default)
    return parser.parse_args()


def messages(code):
    """Returns the messages of a language; English ones are the originals of translations."""
    folder = LOCALES / ("fr" if code == "en" else code) / "LC_MESSAGES"
    total, seen = 0, set()
    for path in sorted(folder.glob("*.mo")):
        try:
            with open(path, "rb") as file:
                catalogue = gettext.GNUTranslations(file)._catalog
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        for key, value in sorted(catalogue.items(), key=lambda item: str(item[0])):
            text = key.split("\4")[-1] if code == "en" and isinstance(key, str) else value
            if not isinstance(text, str) or text in seen or MARKS.search(text) or len(text) < 12:
                continue
            seen.add(text)
            total += len(text)
            yield text
            if total > MESSAGES:
                return


class Language:
    """Endless text in one language."""

    def __init__(self, code, encodings=("utf-8",)):
        self.code, self.encodings = code, encodings
        self.words, wide = [], 0
        for text in messages(code):
            words = text.split()
            wide += len(WIDE.findall(text))
            self.words += words
        if not self.words:
            raise SystemExit(f"{LOCALES}: no messages in {code}")
        # Without blanks between words, pieces of a message take their place.
        self.between = "" if wide > len(self.words) else " "
        if not self.between:
            letters = _with_marks("".join(self.words))
            self.words = ["".join(letters[at : at + 3]) for at in range(0, len(letters), 3)]
        strict = encodings[-1]
        self.words = [word for word in self.words if _fits(word, encodings)]
        if len(self.words) < 2000:
            raise SystemExit(f"{code}: {len(self.words)} words that fit {strict}")

    def take(self, random, count):
        """Returns `count` words."""
        out, at = [], 0
        for _ in range(count):
            at = (
                at + 1
                if at + 1 < len(self.words) and random.random() < FOLLOW
                else random.randrange(len(self.words))
            )
            out.append(self.words[at])
        return out

    def edit(self, random, words, percent):
        """Returns these words with some replaced, removed or inserted."""
        chosen = set(random.sample(range(len(words)), round(len(words) * percent / 100)))
        out = []
        for at, word in enumerate(words):
            if at not in chosen:
                out.append(word)
                continue
            how = random.randrange(3)
            out += self.take(random, 1) * (how != 1) + [word] * (how == 2)
        return out

    def paragraphs(self, words, width=12, height=6):
        """Returns lines of `width` words in paragraphs of `height` lines."""
        lines = [self.between.join(words[at : at + width]) for at in range(0, len(words), width)]
        blocks = ["\n".join(lines[at : at + height]) for at in range(0, len(lines), height)]
        return "\n\n".join(blocks) + "\n"


def _with_marks(text):
    """Returns characters with their marks, vowel signs and joiners."""
    out = []
    for character in text:
        if out and unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf"):
            out[-1] += character
        elif out and out[-1][-1] in "\u17d2\u1039":  # joins what follows
            out[-1] += character
        else:
            out.append(character)
    return out


def _fits(word, encodings):
    try:
        return all(word.encode(encoding) for encoding in encodings)
    except UnicodeEncodeError:
        return False


class Corpus:
    """A folder of files with the truth about their pairs."""

    def __init__(self, tools, out):
        self.common, self.out = common(tools), Path(out)
        self.rows, self.families, self.texts, self.grams = [], [], {}, {}

    def put(self, name, data, bases, text=None):
        """Writes a file; `text` is its text, if that differs from its bytes."""
        self.common.write(self.out / "files" / name, data)
        self.families.append([name, ",".join(bases)])
        if text is not None:
            self.common.write(self.out / "texts" / name, text)
        self.texts[name] = (data, text)

    def pair(self, a, b, kind, level, shared=None, bytes_too=True):
        """Adds the truth about two files; `shared` is by construction."""
        (of_a, text_a), (of_b, text_b) = self.texts[a], self.texts[b]
        sets = [self._shingles(name) for name in (a, b)]
        cover = self.common.cover
        long = (cover(of_a, self._grams(b)), cover(of_b, self._grams(a))) if bytes_too else (0, 0)
        shared = shared or self.common.broder(*sets)[1:]
        self.rows.append(self.common.row(a, b, kind, level, shared, long, shared, *sets))

    def _shingles(self, name):
        data, text = self.texts[name]
        if ("words", name) not in self.grams:
            self.grams["words", name] = self.common.shingles(data if text is None else text)
        return self.grams["words", name]

    def _grams(self, name):
        if len(self.grams) > 600:
            self.grams.clear()
        if name not in self.grams:
            self.grams[name] = self.common.gram_set(self.texts[name][0])
        return self.grams[name]

    def end(self):
        self.common.write_tsv(self.out / "truth.tsv", self.common.HEADER, self.rows)
        self.common.write_tsv(self.out / "families.tsv", ["file", "bases"], self.families)
        print(f"{len(self.families)} files, {len(self.rows)} pairs in {self.out}")
