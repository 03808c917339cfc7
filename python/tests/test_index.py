"""`Index`: texts in a file."""

import random
import subprocess
import sys

import pytest
import resemble
from conftest import edited, families, prose


def keys(rows):
    return [row.key for row in rows]


def test_texts_are_found_after_the_file_is_opened_again(tmp_path):
    texts = families(21, 200, size=4)
    path = tmp_path / "texts.redb"
    with resemble.Index(path) as index:
        for number, text in enumerate(texts):
            index.add(f"text {number}", text)
        assert len(index) == 200
    with resemble.Index(path, readonly=True) as index:
        assert len(index) == 200
        for number in (0, 57, 199):
            rows = index.find(texts[number], 0.7)
            assert rows[0].key == f"text {number}"
            assert rows[0].relation == "identical"
            family = {f"text {4 * (number // 4) + at}" for at in range(4)}
            assert set(keys(rows)) <= family


def test_figures_are_those_of_pairs(tmp_path):
    texts = families(22, 40, size=4)
    with resemble.Index(tmp_path / "texts.redb") as index:
        for number, text in enumerate(texts):
            index.add(str(number), text)
        for pair in resemble.pairs(texts, 0.7):
            rows = {row.key: row for row in index.find(texts[pair.a], 0.7)}
            assert rows[str(pair.b)][1:] == pair[2:]


def test_a_model_agrees(tmp_path):
    draw = random.Random(23)
    pool = families(24, 60, size=3)
    path, model = tmp_path / "texts.redb", {}
    index = resemble.Index(path)
    for _ in range(200):
        key = f"{draw.choice('abc/%')}{draw.randrange(12)}"
        what = draw.random()
        if what < 0.6:
            model[key] = draw.choice(pool)
            index.add(key, model[key])
        elif what < 0.8:
            if model.pop(key, None) is None:
                with pytest.raises(KeyError):
                    index.remove(key)
            else:
                index.remove(key)
        elif what < 0.9:
            index.close()
            index = resemble.Index(path)
        else:
            text = draw.choice(pool)
            found = [row.key for row in index.find(text) if row.relation == "identical"]
            assert sorted(found) == sorted(key for key, of in model.items() if of == text)
        assert len(index) == len(model)
    index.close()


def test_one_writer_or_several_readers(tmp_path):
    path = tmp_path / "texts.redb"
    resemble.Index(path).close()
    other = "import resemble, sys; resemble.Index(sys.argv[1], readonly=bool(int(sys.argv[2])))"

    def opens(readonly):
        command = [sys.executable, "-c", other, str(path), str(int(readonly))]
        ran = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        assert ran.returncode == 0 or "resemble.Locked: the index" in ran.stderr, ran.stderr
        return ran.returncode == 0

    with resemble.Index(path):
        assert not opens(readonly=False)
        assert not opens(readonly=True)
        with pytest.raises(resemble.Locked, match="is open elsewhere"):
            resemble.Index(path)
    with resemble.Index(path, readonly=True), resemble.Index(path, readonly=True):
        assert opens(readonly=True)
        assert not opens(readonly=False)
    assert opens(readonly=False)


def test_another_file_is_left_alone(tmp_path):
    path = tmp_path / "precious.txt"
    path.write_bytes(b"not an index\n" * 1000)
    with pytest.raises(resemble.Error, match="is no index of texts"):
        resemble.Index(path)
    assert path.read_bytes() == b"not an index\n" * 1000
    assert [file.name for file in tmp_path.iterdir()] == ["precious.txt"]


def test_errors_are_sentences(tmp_path):
    path = tmp_path / "texts.redb"
    index = resemble.Index(path)
    with pytest.raises(KeyError):
        index.remove("nothing")
    with pytest.raises(ValueError, match="1 to 1024 bytes"):
        index.add("", "text")
    with pytest.raises(TypeError, match="of type int, not str or bytes"):
        index.add("key", 1)
    index.close()
    index.close()
    with pytest.raises(resemble.Error, match="is closed"):
        index.find("text")
    with resemble.Index(path, readonly=True) as reader:
        with pytest.raises(resemble.Error, match="open for reading"):
            reader.add("key", "text")
    with pytest.raises(resemble.Error, match="cannot open the index"):
        resemble.Index(tmp_path / "missing" / "texts.redb")


def test_a_replaced_text_is_forgotten(tmp_path):
    draw = random.Random(25)
    path = tmp_path / "texts.redb"
    secret = prose(draw, 400)
    with resemble.Index(path) as index:
        index.add("a", secret)
        index.add("b", edited(draw, secret, 0.1))
    with resemble.Index(path) as index:
        index.add("a", prose(draw, 400))
        assert keys(index.find(secret)) == ["b"]
        index.remove("b")
        assert index.find(secret) == []


def test_an_index_that_is_dropped_has_written(tmp_path):
    path = tmp_path / "texts.redb"
    index = resemble.Index(path)
    index.add("a", "one text")
    del index
    with resemble.Index(path, readonly=True) as reader:
        assert keys(reader.find("one text")) == ["a"]


def test_keys_may_have_any_characters(tmp_path):
    names = ["/", "%2f", "%", "..", ".", "a/../b", "\0", "k", "%25", "ä\n", "x" * 1024]
    texts = families(26, len(names))
    path = tmp_path / "texts.redb"
    with resemble.Index(path) as index:
        for key, text in zip(names, texts):
            index.add(key, text)
    with resemble.Index(path) as index:
        assert len(index) == len(names)
        for key, text in zip(names, texts):
            assert index.find(text, 1.0)[0].key == key
            index.remove(key)
        assert len(index) == 0
