"""What is shown of transactions: lists by every filter, one by one, and by the producers of a partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.beside_kafka.side import Side, Sides, differences
from tests.conformance.beside_kafka.transacting import TOPIC, Actor

pytestmark = [pytest.mark.java, pytest.mark.slow]

PATTERNS = {
    "shown-.*": True,
    ".*open": True,
    "shown-open": True,
    "shown": True,
    "(?i)SHOWN-(open|empty)": True,
    "[[:alpha:]]+-\\w{5}": True,
    "\\pL+-\\PN+": True,
    "^shown-.{4}$": True,
    "(?:shown-)(?P<name>o[a-z]+)": True,
    "\\Qshown-\\Eopen|shown-empty": True,
    "shown-(o|p|e|n){1,10}": True,
    "": True,
    "(": False,
    "[": False,
    "*": False,
    "a**": False,
    "a{2}{3}": False,
    "a{1001}": False,
    "(?=a)": False,
    "(a)\\1": False,
    "\\y": False,
    "(?P=name)": False,
    "[b-a]": False,
}
"""And whether it is a regular expression."""


@pytest.fixture(scope="module")
def cast(transacting: Sides) -> dict[str, dict[str, Actor]]:
    """The same transactions on both."""
    return {side.name: _cast(side) for side in (transacting.kafka, transacting.ours)}


def _cast(side: Side) -> dict[str, Actor]:
    found = {}
    for name in ("empty", "open", "committed"):
        actor = found[name] = Actor(side, f"shown-{name}")
        actor.begin(45_000)
    found["open"].open()
    found["open"].produce(11, [])
    found["committed"].produce(12, [])
    found["committed"].end("commit", 5)
    found["committed"].settle("CompleteCommit")
    return found


def listed(side: Side, version: int = 2, **filters: Any) -> Any:
    answer = side.ask_raw("ListTransactions", version, **{"duration_filter": -1, **filters}).message
    found = sorted(
        (each.transactional_id, each.transaction_state)
        for each in answer.transaction_states
        if each.transactional_id.startswith("shown-")
    )
    return answer.error_code, sorted(answer.unknown_state_filters), found


def same(sides: Sides, work: Callable[[Side], Any]) -> Any:
    expected, found = work(sides.kafka), work(sides.ours)
    assert not list(differences(expected, found)), (expected, found)
    return found


FILTERS: list[dict[str, Any]] = [
    {},
    *({"state_filters": names} for names in (["Ongoing"], ["Empty", "CompleteCommit"], ["ongoing"], ["Dead"])),
    *({"state_filters": names} for names in (["Nonsense"], ["Ongoing", "x", "x"])),
    *({"producers": names} for names in (["open"], ["open", "empty"], [])),
    {"producer_id_filters": [-1, 12345678]},
    {"producers": ["open", "empty"], "state_filters": ["Empty"]},
    *({"duration_filter": ms} for ms in (-5, 0, 3_600_000)),
    *({"duration_filter": ms, "state_filters": ["Ongoing"]} for ms in (0, 3_600_000)),
]


@pytest.mark.parametrize("version", range(3))
def test_lists_by_state_producer_and_duration(sides: Sides, cast: Any, version: int) -> None:
    for wanted in FILTERS:

        def work(side: Side, wanted: dict[str, Any] = wanted) -> Any:
            given = dict(wanted)
            if "producers" in given:
                given["producer_id_filters"] = [cast[side.name][each].id for each in given.pop("producers")]
            return listed(side, version, **given)

        _, _, found = same(sides, work)
        assert wanted or len(found) == 3


@pytest.mark.parametrize("pattern", PATTERNS)
def test_lists_by_pattern(sides: Sides, cast: Any, pattern: str) -> None:
    code, _, found = same(sides, lambda side: listed(side, transactional_id_pattern=pattern))
    assert (code == 0) == PATTERNS[pattern]
    same(sides, lambda side: listed(side, transactional_id_pattern=pattern, state_filters=["Empty"]))
    assert found or pattern == "shown" or code


def test_one_by_one(sides: Sides, cast: Any) -> None:
    def described(side: Side) -> Any:
        names = [f"shown-{name}" for name in cast[side.name]]
        rows = side.ask_raw("DescribeTransactions", 0, transactional_ids=[*names, "never"]).message.transaction_states
        fields = ("transactional_id", "error_code", "transaction_state", "transaction_timeout_ms", "producer_epoch")
        return [
            [getattr(row, field) for field in fields]
            + [row.producer_id > 0, row.transaction_start_time_ms > 0]
            + [sorted((topic.topic, sorted(topic.partitions)) for topic in row.topics)]
            for row in rows
        ]

    assert same(sides, described)[1][2] == "Ongoing"


def test_by_the_producers_of_a_partition(sides: Sides, cast: Any) -> None:
    def described(side: Side) -> Any:
        topics = [{"name": TOPIC, "partition_indexes": [0, 9]}, {"name": "none", "partition_indexes": [0]}]
        topics.append({"name": "no/name", "partition_indexes": [0]})
        names = {actor.id: name for name, actor in cast[side.name].items()}
        answer = side.ask_raw("DescribeProducers", 0, topics=topics).message
        fields = ("producer_epoch", "last_sequence", "coordinator_epoch")
        return [
            (
                row.error_code,
                sorted(
                    [names[each.producer_id], each.current_txn_start_offset >= 0, each.last_timestamp > 0]
                    + [getattr(each, field) for field in fields]
                    for each in row.active_producers
                    if each.producer_id in names
                ),
            )
            for topic in answer.topics
            for row in topic.partitions
        ]

    (_, shown), *_ = same(sides, described)
    assert [each[:2] for each in shown] == [["committed", False], ["open", True]]
