"""What the functions return: named tuples in lists that pandas and Arrow can take over."""

from collections.abc import Sequence
from typing import NamedTuple, Optional


class Pair(NamedTuple):
    """Two texts by their places, and their figures; `None`: too small to judge."""

    a: int
    b: int
    score: float
    a_in_b: Optional[float]
    b_in_a: Optional[float]
    resemblance: Optional[float]
    shared_bytes: int
    relation: Optional[str]
    unit: str


class Found(NamedTuple):
    """A key whose text (b) resembles the one that was asked for (a)."""

    key: str
    score: float
    a_in_b: Optional[float]
    b_in_a: Optional[float]
    resemblance: Optional[float]
    shared_bytes: int
    relation: Optional[str]
    unit: str


class Duplicate(NamedTuple):
    """A text that goes, the one that stays for it, and the share of it that lies in that."""

    text: int
    of: int
    share: float


class Rows(Sequence):
    """Rows of one type, a list that does not change; pandas and Arrow take its columns over."""

    def __init__(self, row, rows=()):
        self.fields = row._fields
        self._rows = list(rows)

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, at):
        return self._rows[at]

    def __eq__(self, other):
        return list(self) == list(other) if isinstance(other, (Rows, list)) else NotImplemented

    def __repr__(self):
        return repr(self._rows)

    def columns(self):
        """The columns by name."""
        return {field: [row[at] for row in self] for at, field in enumerate(self.fields)}

    def to_pandas(self):
        """A data frame of pandas."""
        import pandas

        return pandas.DataFrame(self.columns(), columns=list(self.fields))

    def __arrow_c_stream__(self, requested_schema=None):
        import pyarrow

        return pyarrow.table(self.columns()).__arrow_c_stream__(requested_schema)


class Deduplicated(NamedTuple):
    """The places of the texts that stay, ascending, and the duplicates among the others."""

    selected: list[int]
    duplicates: Rows
