"""`dedupe`: what stays, what goes, and for whom."""

import random
from collections import Counter

import resemble
from conftest import edited, families, mixed, prose


def test_every_text_stays_or_goes():
    texts = mixed()
    found = resemble.dedupe(texts, 0.7)
    gone = [row.text for row in found.duplicates]
    assert sorted(found.selected + gone) == list(range(len(texts)))
    assert found.selected == sorted(found.selected)
    stay = set(found.selected)
    for row in found.duplicates:
        assert row.of in stay and row.of < row.text
        share = resemble.why(texts[row.text], texts[row.of])["a_in_b"]
        # Of a text that is too small to judge `why` has no share.
        assert share in (row.share, None)
        assert row.share >= 0.7


def test_nothing_stays_that_pairs_would_find():
    texts = families(3, 6000, size=8)
    stay = set(resemble.dedupe(texts, 0.7).selected)
    pairs = [row for row in resemble.pairs(texts, 0.7) if {row.a, row.b} <= stay]
    missed = [row for row in pairs if (row.b_in_a if row.a < row.b else row.a_in_b) >= 0.7]
    assert missed == []
    assert len(stay) < 3000


def test_short_texts_are_found():
    draw = random.Random(9)
    originals = [prose(draw, 14).replace("\n", " ") for _ in range(500)]
    copies = [text + "again" for text in originals]
    found = resemble.dedupe(originals + copies, 0.7)
    assert found.selected == list(range(500))
    assert [row.of for row in found.duplicates] == list(range(500))


def test_what_holds_an_earlier_text_stays():
    draw = random.Random(4)
    small = prose(draw, 100)
    assert resemble.dedupe([small, small + prose(draw, 900)]).selected == [0, 1]
    assert resemble.dedupe([small + prose(draw, 900), small]).selected == [0]


def test_a_family_of_thousands_is_one_text():
    draw = random.Random(6)
    page = prose(draw, 300)
    texts = [edited(draw, page, 0.04) for _ in range(3000)]
    found = resemble.dedupe(texts, 0.7)
    assert len(found.selected) < 5
    assert Counter(row.of for row in found.duplicates).most_common(1)[0] == (0, 2999)


def test_a_header_that_all_have_is_no_reason():
    draw = random.Random(8)
    header = prose(draw, 60)
    texts = [header + prose(draw, 120) for _ in range(300)]
    copy = edited(draw, texts[290], 0.05)
    found = resemble.dedupe([*texts, copy], 0.7)
    assert found.selected == list(range(300))
    assert found.duplicates[0][:2] == (300, 290)


def test_order_of_threads_does_not_matter():
    texts = families(12, 9000, size=3, length=60)
    assert resemble.dedupe(texts, 0.6) == resemble.dedupe(iter(texts), 0.6)
