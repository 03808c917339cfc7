"""Near-duplicates among texts: how much of each is in the other, proven.

The figures are those of the program ``resemble`` for the same texts as files; docs/python.md of
its repository says what they mean.
"""

from resemble import _resemble
from resemble._resemble import Error, Locked
from resemble._rows import Deduplicated, Duplicate, Found, Pair, Rows

__all__ = [
    "Deduplicated",
    "Duplicate",
    "Error",
    "Found",
    "Index",
    "Locked",
    "Pair",
    "Rows",
    "dedupe",
    "pairs",
    "signatures",
    "why",
]


def pairs(texts, min=0.7, *, score="containment"):
    """Every two texts with a score of at least `min`, best first.

    Equal texts are one content, which goes by its first place; a row ties each further place to it.
    """
    rows = _resemble.pairs(texts, min, score)
    return Rows(Pair, (Pair(a, b, *figures) for a, b, figures in rows))


def dedupe(texts, min=0.7):
    """The places of the texts that stay, and for each other one the text that it lies in.

    A text goes if at least `min` of it lies in one before it that stays.
    """
    selected, duplicates = _resemble.dedupe(texts, min)
    return Deduplicated(selected, Rows(Duplicate, map(Duplicate._make, duplicates)))


def why(a, b):
    """The figures of two texts, and where they agree and differ: bytes from 0, lines from 1."""
    return _resemble.why(a, b)


def signatures(texts):
    """The sampled shingles of each text: two NumPy arrays, where those of each begin, and all."""
    import numpy

    offsets, samples = _resemble.signatures(texts)
    return numpy.frombuffer(offsets, numpy.uint64), numpy.frombuffer(samples, numpy.uint32)


class Index(_resemble.TextIndex):
    """Texts by key in a file. It has one writer, or several readers; else `Locked` is raised.

    Texts that were added are in the file after `close`, at the end of a `with` block.
    """

    def find(self, text, min=0.7, *, score="containment"):
        """The keys whose texts have a score of at least `min` with this one, best first."""
        rows = super().find(text, min, score=score)
        return Rows(Found, (Found(key, *figures) for key, figures in rows))
