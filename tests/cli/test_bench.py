"""`penstock bench`: what it says it has measured is what happened, and nothing is left."""

import json
from typing import Any

import pytest

from penstock.cli import measuring
from penstock.testing import Broker
from tests.cli.running import Shell

FEW = ("--records", "50")


def told(shell: Shell, *typed: str) -> dict[str, Any]:
    done = shell("bench", *typed, "-o", "json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def topics(shell: Shell) -> list[str]:
    return [each["topic"] for each in json.loads(shell("topic", "list", "-o", "json").out)]


@pytest.mark.parametrize("what", ["produce", "consume"])
def test_a_flow_is_measured_on_a_topic_of_its_own(penstock: Shell, what: str) -> None:
    flow = told(penstock, what, *FEW, "--record-bytes", "1000", "--partitions", "3")
    assert flow["records"] == 50
    assert flow["records_per_second"] > 0
    assert not [name for name in topics(penstock) if "bench" in name]


def test_a_topic_that_was_named_is_written_read_and_kept(penstock: Shell) -> None:
    told(penstock, "produce", "measured", *FEW)
    told(penstock, "produce", "measured", *FEW, "--property", "compression.type=lz4")
    assert told(penstock, "consume", "measured")["records"] == 100
    assert told(penstock, "consume", "measured", "--records", "10")["records"] >= 10
    assert "measured" in topics(penstock)


def test_the_way_of_a_record_is_measured(penstock: Shell) -> None:
    delays = told(penstock, "latency", *FEW, "--rate", "1000", "--property", "acks=1")
    for what in ("acknowledged", "read"):
        assert 0 < delays[f"{what}_p50_ms"] <= delays[f"{what}_p99_ms"] <= delays[f"{what}_max_ms"]
    assert not [name for name in topics(penstock) if "bench" in name]


def test_a_flow_is_so_much_in_a_second() -> None:
    flow = measuring.Flow(records=50, bytes=5_000_000, seconds=0.5)
    assert (flow.records_per_second, flow.megabytes_per_second) == (100, 10.0)


def test_delays_count_from_when_a_record_was_due() -> None:
    assert measuring._spread([0.001 * number for number in range(1, 101)]) == (51.0, 99.0, 100.0)


def test_records_that_do_not_come_are_missed(shell: Shell, penstock_broker: Broker) -> None:
    penstock_broker.fail("Fetch", "NOT_LEADER_OR_FOLLOWER", times=1_000)
    try:
        failed = shell("bench", "latency", *FEW, "--timeout", "1", "--bootstrap", penstock_broker.bootstrap)
    finally:
        penstock_broker.heal()
    assert (failed.code, failed.out) == (1, "")
    assert "NOT_LEADER_OR_FOLLOWER" in failed.err


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        (("consume", "of-nobody"), 1, "of-nobody"),
        (("latency", "--rate", "0"), 2, "0 is not above 0"),
        (("latency", "--record-bytes", "3"), 2, "3 is not 16 or more"),
        (("produce", "--property", "transactional.id=x"), 2, "transactional.id is no setting that acts here"),
    ],
)
def test_what_cannot_be_measured(
    shell: Shell, penstock_broker: Broker, typed: tuple[str, ...], code: int, message: str
) -> None:
    failed = shell("bench", *typed, "--bootstrap", penstock_broker.bootstrap)
    assert (failed.code, failed.out) == (code, "")
    assert message in failed.err
