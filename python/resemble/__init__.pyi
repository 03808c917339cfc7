from collections.abc import Iterable, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal, NamedTuple, Optional, TypeVar, Union, overload

from numpy import uint32, uint64
from numpy.typing import NDArray

Text = Union[str, bytes]
# A list or another iterable, a Series of pandas or polars, an array or chunked array of Arrow.
Texts = Iterable[Text]
Score = Literal["containment", "resemblance"]
Row = TypeVar("Row")

class Error(Exception): ...
class Locked(Error): ...

class Pair(NamedTuple):
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
    key: str
    score: float
    a_in_b: Optional[float]
    b_in_a: Optional[float]
    resemblance: Optional[float]
    shared_bytes: int
    relation: Optional[str]
    unit: str

class Duplicate(NamedTuple):
    text: int
    of: int
    share: float

class Rows(Sequence[Row]):
    fields: tuple[str, ...]
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def columns(self) -> dict[str, list[Any]]: ...
    def to_pandas(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

class Deduplicated(NamedTuple):
    selected: list[int]
    duplicates: Rows[Duplicate]

def pairs(texts: Texts, min: float = 0.7, *, score: Score = "containment") -> Rows[Pair]: ...
def dedupe(texts: Texts, min: float = 0.7) -> Deduplicated: ...
def why(a: Text, b: Text) -> dict[str, Any]: ...
def signatures(texts: Texts) -> tuple[NDArray[uint64], NDArray[uint32]]: ...

class Index:
    def __new__(cls, path: Union[str, PathLike[str]], *, readonly: bool = False) -> Index: ...
    def add(self, key: str, text: Text) -> None: ...
    def find(self, text: Text, min: float = 0.7, *, score: Score = "containment") -> Rows[Found]: ...
    def remove(self, key: str) -> None: ...
    def close(self) -> None: ...
    def __len__(self) -> int: ...
    def __enter__(self) -> Index: ...
    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None: ...
