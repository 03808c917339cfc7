"""Texts for tests, and the program whose figures the wheel must have."""

import base64
import json
import os
import random
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el")]


def words(draw, count):
    return ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) for _ in range(count)]


def prose(draw, count):
    """A text of this many words in lines of twelve."""
    all_words = words(draw, count)
    lines = (" ".join(all_words[at : at + 12]) for at in range(0, count, 12))
    return "\n".join(lines) + "\n"


def edited(draw, text, share):
    lines = text.splitlines(keepends=True)
    return "".join(prose(draw, 12) if draw.random() < share else line for line in lines)


def families(seed, count, size=5, length=150):
    """Texts in families of which each member is an edit of the last; no two are equal."""
    draw = random.Random(seed)
    texts = []
    while len(texts) < count:
        texts.append(prose(draw, length))
        for _ in range(size - 1):
            version = edited(draw, texts[-1], 0.08)
            texts.append(version if version != texts[-1] else version + prose(draw, 6))
    return texts[:count]


def table(draw, rows):
    lines = [f"{number};{';'.join(words(draw, 4))}" for number in draw.sample(range(9999), rows)]
    return lines


def data(draw):
    """What is no text to the engine: drawings and encoded data, each with an edited copy."""
    made = []
    for _ in range(6):
        number = lambda: f"{draw.random():.4f}"
        paths = [f"<path d='M{number()} {number()}L{number()}'/>" for _ in range(120)]
        lines = base64.encodebytes(draw.randbytes(4000)).decode().splitlines()
        for rows in (paths, lines):
            made.append("\n".join(rows))
            made.append("\n".join(rows[: len(rows) * 3 // 4] + rows[:2]))
    return made


def mixed():
    """Texts of every sort that is compared in another way."""
    draw = random.Random(7)
    texts = families(1, 400)
    texts += families(2, 60, size=4, length=24)
    texts += families(3, 60, size=3, length=1500)
    rows = table(draw, 200)
    for keep in (200, 180, 120, 60):
        shuffled = rows[:keep]
        draw.shuffle(shuffled)
        texts.append("\n".join(shuffled) + "\n")
    long = prose(draw, 800)
    texts += [long[:1500], long[700:2500], long.upper(), long.replace(" ", "\n")]
    texts += data(draw)
    texts += [texts[0], texts[0], texts[9], "", "", "one two three", "one two three four"]
    accented = prose(draw, 90).replace("a", "ä").replace("e", "é")
    texts += [accented, edited(draw, accented, 0.1), "漢字の文章です。" * 40, "漢字の文章です。" * 41]
    draw.shuffle(texts)
    return texts


@pytest.fixture(scope="session")
def program():
    """`resemble`, built by `cargo build` or named by RESEMBLE."""
    path = Path(os.environ.get("RESEMBLE", TOP / "target/debug/resemble"))
    assert path.exists(), f"{path} is missing: build it, or name it by RESEMBLE"
    return path


@pytest.fixture
def resemble_json(program, tmp_path):
    """Runs a verb of the program and returns its document."""

    def run(*arguments):
        env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        command = [program, "--local", "--state", tmp_path / "state", "-q", *arguments]
        command += ["--format", "json"]
        ran = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, env=env, check=False)
        assert ran.returncode in (0, 1)
        return json.loads(ran.stdout)

    return run


@pytest.fixture
def as_files(tmp_path):
    """Writes texts as files whose names are their places."""

    def write(texts):
        folder = tmp_path / "texts"
        folder.mkdir()
        for place, text in enumerate(texts):
            content = text if isinstance(text, bytes) else text.encode()
            (folder / f"{place:06}.txt").write_bytes(content)
        return folder

    return write
