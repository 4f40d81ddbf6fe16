"""Frames that are no requests: who answers, who hangs up."""

import socket
import struct

import pytest

from tests.conformance.beside_kafka.side import ANSWER_S_MAX, Side, Sides

pytestmark = [pytest.mark.java, pytest.mark.slow]

API_VERSIONS, METADATA, PRODUCE, FETCH = 18, 3, 0, 1
NO_TAGS = b"\0"


def header(key: int, version: int, rest: bytes = b"") -> bytes:
    body = struct.pack(">hhih", key, version, 7, -1) + rest
    return struct.pack(">i", len(body)) + body


FRAMES = {
    "ApiVersions 0": header(API_VERSIONS, 0),
    "ApiVersions from the future": header(API_VERSIONS, 99),
    "an unknown key": header(999, 0),
    "a negative key": header(-1, 0),
    "a key for controllers": header(62, 0),
    "Metadata from the future": header(METADATA, 99),
    "Produce from the past": header(PRODUCE, 2, b"\0" * 20),
    "Fetch from the past": header(FETCH, 3, b"\0" * 20),
    "Metadata cut short": header(METADATA, 1, b"\0\0"),
    "Metadata with a huge count": header(METADATA, 1, b"\x7f\xff\xff\xff"),
    "Metadata with bytes to spare": header(METADATA, 1, b"\0\0\0\0" + b"spare"),
    "a header cut short": b"\0\0\0\4\0\3\0\1",
    "nothing in it": b"\0\0\0\0",
    "a negative size": b"\xff\xff\xff\xff" + b"x" * 20,
    "a huge size": b"\x7f\xff\xff\xff" + b"x" * 20,
    "another protocol": b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
}


@pytest.mark.parametrize("name", FRAMES)
def test_who_answers(sides: Sides, name: str) -> None:
    sides.agree(lambda side: reaction(side, FRAMES[name]))


def test_who_is_too_new_is_told_what_to_ask_and_nothing_more(sides: Sides) -> None:
    def answer(side: Side) -> bytes:
        with socket.create_connection(("127.0.0.1", side.port), ANSWER_S_MAX) as connection:
            connection.sendall(header(API_VERSIONS, 99, NO_TAGS))
            (length,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
            return connection.recv(length, socket.MSG_WAITALL)

    sides.agree(answer)


def reaction(side: Side, frame: bytes) -> str:
    """Whether an answer comes, and the error it begins with where ApiVersions is asked; hanging up is one too."""
    with socket.create_connection(("127.0.0.1", side.port), ANSWER_S_MAX) as connection:
        connection.sendall(frame)
        try:
            data = connection.recv(10, socket.MSG_WAITALL)
        except ConnectionResetError:
            return "hung up"
    if not data:
        return "hung up"
    is_about_versions = frame[4:6] == struct.pack(">h", API_VERSIONS)
    return f"answered with error {data[8:10].hex()}" if is_about_versions else "answered"
