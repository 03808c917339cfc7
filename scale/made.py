"""Made files for tests and measurements: always the same."""

import random
from pathlib import Path

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def words(draw, count):
    return ["".join(draw.choices(LETTERS, k=draw.randint(3, 9))) for _ in range(count)]


def text(draw, count):
    """Returns `count` words, twelve on a line."""
    all_words = words(draw, count)
    lines = (all_words[at : at + 12] for at in range(0, count, 12))
    return "".join(" ".join(line) + "\n" for line in lines)


def edited(draw, whole, share):
    """Returns the text with this share of its lines replaced."""
    lines = whole.splitlines(keepends=True)
    return "".join(text(draw, 12) if draw.random() < share else line for line in lines)


def put(root, name, content):
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def hard(root):
    """Makes two trees with all difficulties of groups over several machines.

    They have versions on both, copies, texts under headers that exactly 1,000 and 1,001 contents
    have, enough near-copies for a family, small texts beside large ones, and programs that were
    built twice.
    """
    draw = random.Random(1)
    trees = [root / "laptop", root / "server"]
    for family in range(40):
        version = text(draw, draw.choice([60, 200, 900, 4000]))
        for number in range(draw.randint(2, 6)):
            tree = draw.choice(trees)
            put(tree, f"notes/{family:02}/{number}.txt", version)
            if draw.random() < 0.2:
                put(trees[tree == trees[0]], f"copies/{family:02}-{number}.txt", version)
            version = edited(draw, version, draw.choice([0.02, 0.1, 0.4]))
    limit, beyond = text(draw, 60), text(draw, 60)
    for number in range(1001):
        header = beyond if number == 0 else beyond + limit
        put(trees[number % 2], f"headed/{number:04}.txt", header + text(draw, 90))
    page = text(draw, 300)
    for number in range(80):
        put(trees[number % 2], f"pages/{number:02}.html", page + text(draw, 12))
    put(trees[0], "pages/quoted.txt", page + text(draw, 200))
    program = draw.randbytes(60_000)
    for number in range(6):
        built = bytearray(program)
        for _ in range(40 * number):
            at = draw.randrange(len(built) - 64)
            built[at : at + 64] = draw.randbytes(64)
        put(trees[number % 2], f"bin/{number}.o", bytes(built))
    return trees


def families(root, files, size=8):
    """Makes `files` texts of some 150 words, in families where each member edits the previous
    one."""
    draw = random.Random(2)
    for family in range(files // size):
        version = text(draw, 150)
        for number in range(size):
            put(root, f"{family // 1000:04}/{family % 1000:03}-{number}.txt", version)
            version = edited(draw, version, 0.08)
    return Path(root)
