"""What becomes bytes and what does not, what an error is for a program, and that nobody pays who uses none of it."""

import subprocess
import sys

import pytest

import penstock
from penstock.api.config import client_config
from penstock.api.values import Record, as_bytes, as_headers, to_json


def test_text_and_bytes_become_bytes_and_nothing_else_does_by_itself() -> None:
    assert [as_bytes(each) for each in ("ä", b"x", None, bytearray(b"y"))] == ["ä".encode(), b"x", None, b"y"]
    with pytest.raises(TypeError, match="not int; give the producer a serializer"):
        as_bytes(5)


def test_json_keeps_a_tombstone_a_tombstone() -> None:
    assert to_json({"name": "Å", "n": 1}) == '{"name":"Å","n":1}'.encode()
    assert to_json(None) is None
    record = Record("t", 0, 1, 2, None, None)
    assert (record.text, record.json()) == ("", None)
    assert Record("t", 0, 1, 2, b"k", b"[1]").json() == [1]


def test_headers_repeat_and_keep_their_order() -> None:
    assert as_headers([("a", "1"), ("a", b"2"), ("b", None)]) == [("a", b"1"), ("a", b"2"), ("b", None)]
    assert as_headers({"a": "1"}) == [("a", b"1")]
    assert as_headers(None) == []
    assert Record("t", 0, 1, 2, None, None, (("a", b"1"), ("a", b"2"))).header("a") == b"2"


def test_what_has_an_argument_or_is_relied_on_cannot_be_set_beside_it() -> None:
    with pytest.raises(ValueError, match=r"group\.id has an argument of its own"):
        client_config("b:1", {}, {"group.id": "g"}, {})
    with pytest.raises(ValueError, match=r"enable\.auto\.commit cannot be changed here"):
        client_config("b:1", {}, {"enable.auto.commit": True}, {"enable.auto.commit": False})
    with pytest.raises(ValueError, match="localhost:9092"):
        client_config(" ", {}, None, {})
    assert client_config("b:1", {"acks": "all"}, {"acks": 1}, {})["acks"] == 1


def test_everything_that_is_promised_is_there() -> None:
    for name in ("Producer", "Consumer", "Admin", "AsyncProducer", "process", "read_process_write", "RetryPolicy"):
        assert name in dir(penstock)
        assert getattr(penstock, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Produzer'"):
        penstock.Produzer  # noqa: B018


def test_importing_penstock_does_not_load_a_client() -> None:
    probe = "import penstock, sys; sys.exit('confluent_kafka' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


def test_without_the_extra_one_line_says_what_to_install() -> None:
    probe = "import sys; sys.modules['confluent_kafka'] = None; from penstock import Producer"
    done = subprocess.run([sys.executable, "-c", probe], check=False, capture_output=True, text=True)
    assert "need confluent-kafka: pip install 'penstock[client]'" in done.stderr.splitlines()[-1]
