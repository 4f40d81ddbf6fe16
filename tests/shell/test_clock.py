"""A machine that sleeps: its clocks go on, and what was due meanwhile is due when it wakes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from penstock.shell import clock
from tests.node.world import produce
from tests.shell.hosting import Peer, hosted, run

SLEEP_MS = 60_000


def test_the_steady_clock_is_the_one_that_counts_sleep() -> None:
    assert getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC) == clock.STEADY_CLOCK
    before = clock.steady_us()
    assert before <= clock.steady_us()


def test_who_has_slept_past_its_lease_knows_so_in_the_first_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        async with hosted(tmp_path) as host:
            peer = await Peer.connect(host)
            await peer.create("t")
            broker_lifecycle, node = host.node.cluster.broker_lifecycle, host.node
            broker_lifecycle.lease_end_ms = node.now_us // 1000 + 500
            assert broker_lifecycle.holds_lease()
            wall_ms, steady_us, due = clock.wall_ms, clock.steady_us, list[int]()
            node.deadlines.at(node.now_ms + SLEEP_MS // 2, lambda: due.append(node.now_ms))
            # The machine sleeps, and its loop's own clock with it. The first that comes then is a request.
            monkeypatch.setattr(clock, "wall_ms", lambda: wall_ms() + SLEEP_MS)
            monkeypatch.setattr(clock, "steady_us", lambda: steady_us() + SLEEP_MS * 1000)
            host.server.begin()
            assert not broker_lifecycle.holds_lease()
            host.server.finish()
            # Nobody took it for a clock that was set: what was to be done meanwhile is done in the next turn.
            await peer.ask(produce("t", b"a"), 9)
            assert due
            peer.close()

    run(test)
