"""The figures of the wheel are those of the program for the same texts as files."""

from pathlib import Path

import pytest
import resemble
from conftest import families, mixed

FIGURES = ("score", "a_in_b", "b_in_a", "resemblance", "shared_bytes", "relation", "unit")


def place(path):
    return int(Path(path).stem)


def of_program(document, texts):
    """Rows between different texts, as those of the wheel: by the first place of each text."""
    first = {}
    for number, text in enumerate(texts):
        first.setdefault(text, number)
    rows = {}
    for row in document["pairs"]:
        a, b = place(row["a"]), place(row["b"])
        if texts[a] == texts[b]:
            continue
        if (first[texts[a]], first[texts[b]]) == (a, b):
            rows[a, b] = tuple(row.get(field) for field in FIGURES)
    return rows


def of_wheel(rows):
    return {(row.a, row.b): row[2:] for row in rows if row.relation != "identical"}


@pytest.mark.parametrize("score", ["containment", "resemblance"])
@pytest.mark.parametrize("minimum", [0.0, 0.3, 0.7])
def test_pairs_are_those_of_the_program(resemble_json, as_files, minimum, score):
    texts = mixed()
    folder = as_files(texts)
    document = resemble_json("pairs", folder, "--all", "--min", minimum, "--score", score)
    wanted = of_program(document, texts)
    found = of_wheel(resemble.pairs(texts, minimum, score=score))
    assert len(found) > 150
    assert found == wanted


def test_a_thousand_pairs_are_in_the_order_of_the_program(resemble_json, as_files):
    texts = families(11, 700, size=6)
    folder = as_files(texts)
    document = resemble_json("pairs", folder, "--min", "0.4")
    rows = resemble.pairs(texts, 0.4)
    assert len(rows) >= 1000
    wanted = [(place(row["a"]), place(row["b"]), row["score"]) for row in document["pairs"]]
    assert [row[:3] for row in rows] == wanted


def test_equal_texts_are_one_content():
    text, other = families(5, 2)
    rows = resemble.pairs([text, other, text, "", "", text], 0.5)
    assert [(row.a, row.b, row.relation) for row in rows] == [
        (0, 2, "identical"),
        (0, 5, "identical"),
        (0, 1, "near"),
    ]
    assert rows[0].score == rows[0].a_in_b == 1.0


def test_why_is_that_of_the_program(resemble_json, as_files):
    texts = mixed()
    folder = as_files(texts)
    pairs = resemble.pairs(texts, 0.2)
    some = pairs[:: max(len(pairs) // 25, 1)]
    assert {row.unit for row in pairs} == {"words", "bytes"}
    for row in some:
        files = [folder / f"{number:06}.txt" for number in row[:2]]
        document = resemble_json("why", *files)
        found = resemble.why(texts[row.a], texts[row.b])
        assert found == {field: document[field] for field in found}
        assert found["ranges"] or found["resemblance"] < 0.5


def test_bytes_are_measured_as_bytes(resemble_json, as_files):
    a = bytes(range(256)) * 8
    b = b"\0" + a[: 256 * 6] + b"\0" * 64
    folder = as_files([a, b])
    document = resemble_json("why", folder / "000000.txt", folder / "000001.txt")
    found = resemble.why(a, b)
    assert found == {field: document[field] for field in found}
    assert found["unit"] == "bytes"
