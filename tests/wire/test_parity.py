"""The compiled codecs and their slow twin agree on every message and version."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from penstock.core.base.ports import Pause, Steps
from penstock.core.wire import encoder
from penstock.core.wire.errors import DecodeError
from penstock.core.wire.schema import Message, Response
from tests.examples import scaled
from tests.wire import naive
from tests.wire.arbitrary import Arbitrary
from tests.wire.catalog import all_messages, all_versions

EXAMPLES = scaled(8)


@pytest.mark.parametrize("message", all_messages(), ids=lambda message: message.__name__)
def test_bytes_are_equal_and_values_come_back(message: type[Message]) -> None:
    for version in message.VERSIONS:
        source = Arbitrary(f"parity {message.__name__} {version}")
        for value in [message(), *(source.message(message, version) for _ in range(EXAMPLES))]:
            encoded = value.encode(version)
            assert encoded == naive.encode(value, version)
            assert message.decode(encoded, version) == value
            assert naive.decode(message, encoded, version) == value


def test_large_responses_are_encoded_alike_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "PIECES_PER_TURN_MAX", 3)
    source, rests = Arbitrary("turns"), 0
    for message in all_messages():
        if issubclass(message, Response):
            for version in message.VERSIONS:
                stepped = encoder.compile_stepped_encoder(message.SPEC, version, message.is_flexible(version))
                value = source.message(message, version)
                parts, pauses = drive(stepped(value, b""))
                assert b"".join(parts) == value.encode(version)
                rests += pauses
    assert rests


def drive(steps: Steps[Any]) -> tuple[Any, int]:
    """The result, and how often others got their turn."""
    pauses = 0
    while True:
        try:
            assert isinstance(next(steps), Pause)
        except StopIteration as stop:
            return stop.value, pauses
        pauses += 1


def test_every_kind_of_buffer_decodes_to_the_same() -> None:
    source = Arbitrary("buffers")
    for message, version in all_versions():
        value = source.message(message, version)
        encoded = value.encode(version)
        assert message.decode(bytearray(encoded), version) == value
        assert message.decode(memoryview(encoded), version) == value
        padded = memoryview(b"head" + encoded + b"tail")
        assert message.decode_from(padded, version, 4) == (value, 4 + len(encoded))


def test_both_judge_damaged_bytes_alike() -> None:
    source = Arbitrary("verdicts")
    for message, version in all_versions():
        encoded = source.message(message, version).encode(version)
        for _ in range(EXAMPLES if encoded else 0):
            damaged = bytearray(encoded)
            damaged[source.random.randrange(len(damaged))] ^= 1 << source.random.randrange(8)
            ours = verdict(partial(message.decode, damaged, version), version)
            theirs = verdict(partial(naive.decode, message, bytes(damaged), version), version)
            assert ours == theirs, (message.__name__, version, bytes(damaged))


def verdict(decoder: Callable[[], Any], version: int) -> bytes | None:
    """What a decoder makes of its bytes, encoded again, because broken floats are not equal to themselves."""
    try:
        decoded = decoder()
    except DecodeError:
        return None
    encoded: bytes = decoded.encode(version)
    return encoded
