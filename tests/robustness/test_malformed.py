"""Whatever bytes arrive: a clean end of that connection, and everybody else is served as before."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from penstock.testing import Broker
from tests.robustness.good_client import GoodClient
from tests.robustness.malformed import Malformed
from tests.robustness.process import resident_kb
from tests.waiting import wait_until

FRAMES = 5_000
FRAMES_SOAK = 100_000
RESIDENT_GROWTH_KB_MAX = 64 * 1024
ANSWER_S_MAX = 20.0


def throw(broker: Broker, data: bytes) -> None:
    """Send bytes and the end of the stream, and wait until the node has closed its side."""
    # The node may have seen enough, and closed, before all was sent.
    with (
        socket.create_connection((broker.host, broker.port), ANSWER_S_MAX) as client,
        suppress(ConnectionError),
    ):
        client.sendall(data)
        with suppress(OSError):
            client.shutdown(socket.SHUT_WR)
        while client.recv(1 << 16):
            pass


def bombard(seed: int, count: int) -> None:
    source = Malformed(seed)
    with Broker({"max.connections": "1000"}, beside=True) as broker:
        broker.create_topic("good")
        with GoodClient(broker, "good") as good:
            wait_until(lambda: good.rounds > 100)
            before_kb, before_rounds = resident_kb(broker.pid), good.rounds
            for number in range(count):
                data = source.next()
                try:
                    throw(broker, data)
                except TimeoutError:
                    raise AssertionError(f"no end after frame {number} of seed {seed}: {data[:200].hex()}") from None
            assert good.rounds > before_rounds
            grown_kb = resident_kb(broker.pid) - before_kb
        said = broker.talk()
        assert "Traceback" not in said, said[-5000:]
        assert not [line for line in said.splitlines() if " ERROR " in line], said[-5000:]
        assert grown_kb < RESIDENT_GROWTH_KB_MAX, f"{grown_kb} KB more after {count} malformed frames"


@pytest.mark.slow
def test_malformed_frames_end_their_connection_and_nothing_else() -> None:
    bombard(seed=1, count=FRAMES)


@pytest.mark.soak
def test_very_many_malformed_frames() -> None:
    bombard(seed=2, count=FRAMES_SOAK)


def test_the_generator_is_the_same_for_the_same_seed() -> None:
    first, second = Malformed(3), Malformed(3)
    assert [first.next() for _ in range(100)] == [second.next() for _ in range(100)]
