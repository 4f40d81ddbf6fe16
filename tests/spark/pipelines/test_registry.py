"""Runs as records: what is read back, who is lost, who wins a race."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from penstock.client.admin import TOPIC, Admin
from penstock.client.blocking import Client
from penstock.client.pipeline_runs import (
    LOST_AFTER_MS,
    TOPIC_NAME,
    Picture,
    Registry,
    Run,
    State,
    run_record,
    stop_record,
)
from penstock.core.records.record import Record
from penstock.testing import Broker

RUN = Run("orders", "run-1", "host", 17, "local[*]", 1_000, State.RUNNING, batch=3, rows=50, lag=7)


def record(pair: tuple[bytes | None, bytes | None], at_ms: int = 5_000) -> Record:
    return Record(0, at_ms, *pair, ())


def picture_of(*pairs: tuple[bytes | None, bytes | None]) -> Picture:
    picture = Picture({}, {})
    for pair in pairs:
        picture.take(record(pair))
    return picture


def test_a_run_is_read_as_it_was_told_with_the_time_of_the_broker() -> None:
    assert picture_of(run_record(RUN)).runs == {"orders": replace(RUN, heartbeat_ms=5_000)}


def test_a_request_to_stop_is_for_one_run() -> None:
    picture = picture_of(run_record(RUN), stop_record(RUN))

    assert picture.is_asked_to_stop(RUN)
    assert not picture.is_asked_to_stop(replace(RUN, run="run-2"))


@pytest.mark.parametrize(
    "pair",
    [
        (None, None),
        (b"\xff", b"{}"),
        (b"run:orders", None),
        (b"run:orders", b"not json"),
        (b"run:orders", b"[]"),
        (b"run:orders", b"{}"),
        (b"run:orders", b'{"state": "dancing"}'),
        (b"stop:orders", b'{"run": 5}'),
    ],
)
def test_what_others_write_here_is_passed_over(pair: tuple[bytes | None, bytes | None]) -> None:
    assert picture_of(run_record(RUN), pair).runs.keys() == {"orders"}
    assert not picture_of(pair).stops


def test_fields_of_a_later_version_are_passed_over() -> None:
    key, value = run_record(RUN)

    assert picture_of((key, value.replace(b"{", b'{"colour": "red", ', 1))).runs["orders"].batch == 3


@pytest.mark.parametrize(
    ("state", "silent_ms", "seen"),
    [
        (State.RUNNING, LOST_AFTER_MS, State.RUNNING),
        (State.RUNNING, LOST_AFTER_MS + 1, State.LOST),
        (State.STARTING, LOST_AFTER_MS + 1, State.LOST),
        (State.STOPPING, LOST_AFTER_MS + 1, State.LOST),
        (State.STOPPED, 1_000_000, State.STOPPED),
        (State.FAILED, 1_000_000, State.FAILED),
    ],
)
def test_who_should_be_heard_and_is_not_is_lost(state: State, silent_ms: int, seen: State) -> None:
    assert replace(RUN, state=state, heartbeat_ms=50).seen_at(50 + silent_ms).state is seen


@pytest.fixture
def registries(broker: Broker) -> Iterator[tuple[Registry, Registry]]:
    with Client(broker.bootstrap) as one, Client(broker.bootstrap) as other:
        yield Registry(one), Registry(other)


def test_the_topic_is_compacted_and_keeps_the_brokers_time(
    broker: Broker, registries: tuple[Registry, Registry]
) -> None:
    registries[0].create()
    registries[1].create()
    with Client(broker.bootstrap) as client:
        configs = {one.name: one.value for one in Admin(client).describe_configs(TOPIC, TOPIC_NAME)}

    assert configs["cleanup.policy"] == "compact"
    assert configs["message.timestamp.type"] == "LogAppendTime"


def test_what_one_tells_another_hears(registries: tuple[Registry, Registry], penstock_topic: str) -> None:
    one, other = registries
    one.create()
    mine = replace(RUN, pipeline=penstock_topic)
    one.tell(mine)
    heard = other.read().runs[penstock_topic]
    other.ask_to_stop(heard)

    assert heard.heartbeat_ms > 1_700_000_000_000
    assert replace(heard, heartbeat_ms=0) == mine
    assert one.read().is_asked_to_stop(mine)


def test_a_pipeline_that_runs_cannot_be_claimed(registries: tuple[Registry, Registry], penstock_topic: str) -> None:
    one, other = registries
    one.create()
    first = replace(RUN, pipeline=penstock_topic, state=State.STARTING)
    second = replace(first, run="run-2")

    assert one.claim(first, 0).run == first.run
    heard = other.claim(second, 0)
    assert heard.run == first.run
    assert other.claim(second, heard.heartbeat_ms + LOST_AFTER_MS + 1).run == second.run, "a lost run is no hindrance"


def test_of_two_that_start_at_once_the_first_in_the_log_goes_on(
    registries: tuple[Registry, Registry], penstock_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = registries
    one.create()
    first = replace(RUN, pipeline=penstock_topic, state=State.STARTING)
    second = replace(first, run="run-2")
    tell = other.tell

    def tell_after_the_other(run: Run) -> None:
        """Both have looked and found nobody; then both tell."""
        assert one.claim(first, 0).run == first.run
        tell(run)

    monkeypatch.setattr(other, "tell", tell_after_the_other)

    assert other.claim(second, 0).run == first.run
