"""Draws comments of the code and sentences of the pages, to be read by somebody else.

    python3 tests/draw.py SEED [COMMENTS [SENTENCES]]

Prints 100 comments and 60 sentences, each with its place. The reader counts those that had
to be read twice; at most 8 % should be.
"""

import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True)
    return sorted(listed.stdout.split())


def comments():
    """Runs of comment lines: (place, text)."""
    for name in tracked("*.rs"):
        run, begin = [], 0
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate([*lines, ""], 1):
            found = re.match(r"\s*//[/!]?\s?(.*)", line)
            if found and found[1].strip():
                begin = begin or number
                run.append(found[1])
            elif run:
                yield f"{name}:{begin}", " ".join(run)
                run, begin = [], 0


def sentences():
    """Sentences of the pages outside of tables and code: (page, text)."""
    for name in tracked("*.md"):
        if "reference" in name:
            continue
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"```.*?```", "\n\n", text, flags=re.S)
        for paragraph in text.split("\n\n"):
            if paragraph.strip("\n").startswith(("|", "#", "    ", "<!--", "@")):
                continue
            for sentence in re.split(r"(?<=[.:;])\s+(?=[A-Z*`])", " ".join(paragraph.split())):
                if len(sentence.split()) > 3:
                    yield name, sentence


def main(seed, of_comments=100, of_sentences=60):
    chance = random.Random(int(seed))
    for title, drawn, count in (
        ("Comments", comments(), of_comments),
        ("Sentences", sentences(), of_sentences),
    ):
        print(f"# {title}\n")
        for place, text in chance.sample(list(drawn), int(count)):
            print(f"{place}\n    {text}\n")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
