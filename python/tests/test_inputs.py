"""What texts may come in, and what comes out."""

import signal
import threading

import numpy
import pandas
import pyarrow
import pytest
import resemble
from conftest import families

TEXTS = [*families(31, 60, size=3), "ä" * 300, ""]


@pytest.mark.parametrize(
    "make",
    [
        tuple,
        iter,
        lambda texts: [text.encode() for text in texts],
        pandas.Series,
        lambda texts: pandas.Series(texts, dtype=object),
        pyarrow.array,
        lambda texts: pyarrow.array(texts, pyarrow.large_string()),
        lambda texts: pyarrow.array([text.encode() for text in texts]),
        lambda texts: pyarrow.array(["x", *texts, "y"])[1:-1],
        lambda texts: pyarrow.chunked_array([texts[:7], [], texts[7:]]),
        lambda texts: pyarrow.table({"text": texts})["text"],
    ],
)
def test_all_columns_of_texts_are_one(make):
    assert resemble.pairs(make(TEXTS), 0.3) == resemble.pairs(TEXTS, 0.3)
    assert resemble.dedupe(make(TEXTS)) == resemble.dedupe(TEXTS)


@pytest.mark.parametrize(
    ("texts", "failure", "sentence"),
    [
        ("one text", TypeError, "this is one text"),
        (b"one text", TypeError, "this is one text"),
        (["a", 1], TypeError, "text 1 is of type int, not str or bytes"),
        (["a", None], TypeError, "text 1 is of type NoneType"),
        (["a", "\ud800"], ValueError, "text 1 has half a surrogate pair"),
        (pyarrow.array(["a", None]), TypeError, "text 1 is null"),
        (pyarrow.chunked_array([["a"], ["b", None]])[1:], TypeError, "text 1 is null"),
        (pyarrow.table({"a": ["x"], "b": ["y"]}), TypeError, "this is a table"),
        (pyarrow.array([1, 2]), TypeError, "text 0 is of type Int64Scalar"),
        (3, TypeError, "'int' object is not iterable"),
    ],
)
def test_bad_texts_are_refused(texts, failure, sentence):
    for function in (resemble.pairs, resemble.dedupe, resemble.signatures):
        with pytest.raises(failure, match=sentence):
            function(texts)


def test_bad_arguments_are_refused():
    for minimum in (-0.1, 1.1, 70, float("nan")):
        with pytest.raises(ValueError, match="min is a share between 0 and 1"):
            resemble.pairs(TEXTS, minimum)
    with pytest.raises(ValueError, match="containment or resemblance, not jaccard"):
        resemble.pairs(TEXTS, score="jaccard")
    with pytest.raises(TypeError, match="a is of type list"):
        resemble.why(["a"], "b")


def test_rows_are_columns_of_pandas_and_arrow():
    rows = resemble.pairs(TEXTS, 0.5)
    frame = rows.to_pandas()
    assert list(frame.columns) == list(resemble.Pair._fields)
    assert frame["a"].tolist() == [row.a for row in rows]
    table = pyarrow.table(rows)
    assert table.to_pylist() == [row._asdict() for row in rows]
    none = resemble.pairs([]).to_pandas()
    assert list(none.columns) == list(resemble.Pair._fields) and none.empty


def test_signatures_are_samples_of_shingles():
    offsets, samples = resemble.signatures(TEXTS)
    assert (offsets.dtype, samples.dtype) == (numpy.uint64, numpy.uint32)
    assert len(offsets) == len(TEXTS) + 1 and offsets[-1] == len(samples)
    sets = [set(samples[a:b].tolist()) for a, b in zip(offsets[:-1], offsets[1:])]
    # One shingle in eight of some 146.
    assert 12 < numpy.mean([len(one) for one in sets[:60]]) < 25
    shared = numpy.mean([len(a & b) / len(a | b) for a, b in zip(sets[:60:3], sets[1:60:3])])
    strangers = [len(a & b) for a, b in zip(sets[:57:3], sets[3:60:3])]
    assert shared > 0.5 and sum(strangers) == 0


def test_other_threads_run_meanwhile():
    texts = families(32, 4000)
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    before = counted[0]
    resemble.dedupe(texts)
    after = counted[0]
    done.set()
    counter.join()
    assert after > before + 1000


def test_a_signal_ends_the_work():
    class Interrupted(Exception):
        pass

    def interrupt(number, frame):
        raise Interrupted

    some = families(33, 1000)
    texts = [f"{text} {number}" for number in range(40) for text in some]
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(Interrupted):
            resemble.dedupe(texts)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
