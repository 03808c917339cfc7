"""Scores the rows of every verb: against the truth of a corpus, the exact definitions, and each
other."""

import codecs
import html
import re
from collections import defaultdict

CHECKED = 300  # rows of a verb that are computed again by the definition
LARGE = 200_000  # most bytes of a file that Python covers by runs of bytes
FOUND = 0.25  # a pair that shares less need not be listed
# The beginning of a page or drawing, or of a part that was cut at a tag: its markup is no text.
MARKUP = re.compile(rb"\s*(<!DOCTYPE|<html|<\?xml|<svg|<head|<body|<!--|<(?=[^\0]{0,1023}</|/))", re.I)
TAG = re.compile(rb"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^>]*>", re.S | re.I)


BREAKS = []


def _as_latin1(error):
    BREAKS.append(error.start)
    return error.object[error.start:error.end].decode("latin-1"), error.end


codecs.register_error("latin-1", _as_latin1)


def whole_utf8(data):
    """Returns a text that was cut within a letter, or has stray bytes, with these bytes as
    Latin-1."""
    BREAKS.clear()
    text = data.decode("utf-8", "latin-1")
    if not BREAKS:
        return data
    letters = sum(letter > "\x7f" for letter in data.decode("utf-8", "ignore"))
    return text.encode() if letters >= 8 * len(BREAKS) else data


class Exact:
    """The measures of two files by the definitions of common.py."""

    def __init__(self, common, corpus):
        self.common, self.corpus, self.kept, self.pairs = common, corpus, {}, {}

    def _data(self, name):
        return (self.corpus / "files" / name).read_bytes()

    def _text(self, name):
        known = self.corpus / "texts" / name
        if known.exists():
            return known.read_bytes()
        data = self._data(name)
        if MARKUP.match(data[:1024]):
            data = html.unescape(TAG.sub(b" ", data).decode("utf-8", "replace")).encode()
        return whole_utf8(data)

    def _of(self, name, unit):
        if len(self.kept) > 4000:
            self.kept.clear()
        key = name, unit
        if key not in self.kept:
            self.kept[key] = (
                self.common.shingles(self._text(name))
                if unit == "words"
                else self.common.gram_set(self._data(name))
            )
        return self.kept[key]

    def measures(self, a, b, unit):
        """Returns (a_in_b, b_in_a, resemblance), or None if this cannot be computed."""
        key = a, b, unit
        if key in self.pairs:
            return self.pairs[key]
        found = None
        if unit == "words":
            one, other = self._of(a, unit), self._of(b, unit)
            found = (
                self.common.cover_words(one, other),
                self.common.cover_words(other, one),
                self.common.broder(one, other)[0],
            )
        elif max((self.corpus / "files" / name).stat().st_size for name in (a, b)) <= LARGE:
            one, other = self._of(a, unit), self._of(b, unit)
            cover = self.common.cover
            found = (
                cover(self._data(a), other),
                cover(self._data(b), one),
                self.common.broder(one, other)[0],
            )
        self.pairs[key] = found
        return found


def best(rows):
    """Returns the best row of each two files."""
    out = {}
    for row in rows:
        key = row.a, row.b
        if row.a != row.b and (
            key not in out or (row.score, not row.member) > (out[key].score, not out[key].member)
        ):
            out[key] = row
    return out


def average_precision(scores, positives, is_false):
    """Computes it like score.py: pairs with equal scores are taken together."""
    ranked = sorted(
        (
            (-score, key in positives)
            for key, score in scores.items()
            if key in positives or is_false(key)
        )
    )
    true = false = at = 0
    total = 0.0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        here = sum(good for _, good in ranked[at:end])
        true, false = true + here, false + end - at - here
        total += here * true / (true + false)
        at = end
    return total / max(1, len(positives))


class Scored:
    """The rows of one verb against the truth."""

    def __init__(self, rows, truth, families, exact, units, random):
        self.rows = best(rows)
        self.all, self.asked = rows, set()
        related = lambda key: families.get(key[0], set()) & families.get(key[1], set())
        self.false = {
            key: row for key, row in self.rows.items() if not related(key) and key not in truth
        }
        self.found = {key for key in truth if key in self.rows}
        self.ap = average_precision(
            {key: row.score for key, row in self.rows.items()}, truth, lambda key: key in self.false
        )
        self.estimates = sum(row.estimate is True for row in rows)
        self.errors, self.wrong = [], []
        direct = [
            row
            for row in self.rows.values()
            if not row.member
            and row.a_in_b is not None
            and row.relation != "identical"
            and row.a_in_b < 1
        ]
        for row in random.sample(direct, min(CHECKED, len(direct))):
            unit, layer = (
                (row.unit, row.layer) if row.unit else units.get((row.a, row.b), (None, None))
            )
            if unit == "bytes" and layer == "text":
                continue  # about unpacked contents, which this cannot read
            right = exact.measures(row.a, row.b, unit) if unit else None
            if right is None:
                continue
            said = row.a_in_b, row.b_in_a, row.resemblance
            off = max(abs(x - y) for x, y in zip(said, right) if x is not None)
            self.errors.append((abs(max(said[:2]) - max(right[:2])), row.estimate is True))
            if off > 0.0002 and not row.estimate:
                self.wrong.append((off, row, right))

    def strict(self, truth):
        """Returns the share of these pairs above the score of the second best stranger."""
        scores = sorted((row.score for row in self.false.values()), reverse=True)
        least = scores[1] if len(scores) > 1 else -1
        return sum(key in self.rows and self.rows[key].score > least for key in truth) / max(
            1, len(truth)
        )

    def by_question(self, truth):
        """Returns the mean average precision of the rows of each subject with a relative, in
        order."""
        relatives, listed = defaultdict(set), defaultdict(list)
        for a, b in truth:
            relatives[a].add(b)
            relatives[b].add(a)
        for row in self.all:
            other = row.b if row.asked == row.a else row.a
            if other not in listed[row.asked] and other != row.asked:
                listed[row.asked].append(other)
        each = []
        for name in self.asked & set(relatives):
            hits, rank, total = 0, 0, 0.0
            for other in listed[name]:
                key = (name, other) if name < other else (other, name)
                if other in relatives[name]:
                    hits, rank = hits + 1, rank + 1
                    total += hits / rank
                else:
                    rank += key in self.false
            each.append(total / len(relatives[name]))
        return sum(each) / max(1, len(each))

    def cells(self):
        proven = [error for error, estimate in self.errors if not estimate]
        guessed = [error for error, estimate in self.errors if estimate]
        mean = lambda values: f"{sum(values) / len(values):.4f}" if values else "–"
        over = sum(row.score > 0.05 for row in self.false.values())
        return [
            str(len(self.all)),
            f"{len(self.false)} ({over})",
            f"{len(self.wrong)} of {len(proven)}",
            mean(proven),
            f"{self.estimates}, {mean(guessed)}",
        ]


def contradictions(one, other):
    """Returns pairs with different figures in two verbs, and an example."""
    said = lambda row: [
        (None if value is None else round(value, 4))
        for value in (row.a_in_b, row.b_in_a, row.resemblance)
    ] + [row.unit]
    examples = []
    for key, row in one.items():
        if key in other and not row.member and not other[key].member:
            differ = [
                (x, y)
                for x, y in zip(said(row), said(other[key]))
                if x is not None and y is not None and x != y
            ]
            if differ:
                examples.append((key, differ))
    return examples


def by_kind(truth, found):
    """Returns the share of the pairs of each kind that each verb found."""
    kinds = defaultdict(list)
    for key, row in truth.items():
        kinds[row["kind"]].append(key)
    return {
        kind: [sum(key in of for key in keys) / len(keys) for of in found.values()] + [len(keys)]
        for kind, keys in kinds.items()
    }
