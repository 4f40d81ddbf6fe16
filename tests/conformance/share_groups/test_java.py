"""Java's KafkaShareConsumer, in Kafka's own tools, as a member of a group."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.testing import Broker
from tests.conformance.java.running import run
from tests.conformance.share_groups.groups import configure, create_topic, publish
from tests.kafka_peer import Tool, java_tool
from tests.talk import complaints

pytestmark = [pytest.mark.java, pytest.mark.slow]
RECORDS = 1_000


def consumed(broker: Broker, topic: str, *options: str, wanted: int = RECORDS) -> Counter[str]:
    """How often the console consumer printed each value."""
    done = java_tool(
        Tool.CONSOLE_SHARE_CONSUMER,
        *("--bootstrap-server", broker.bootstrap, "--topic", topic, "--group", topic),
        *("--max-messages", str(wanted), "--timeout-ms", "30000", *options),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Counter(done.stdout.split())


def test_each_record_is_given_out_once() -> None:
    with Broker(beside=True) as broker:
        create_topic(broker.bootstrap, "orders", 3)
        configure(broker.bootstrap, "orders")
        publish(broker.bootstrap, "orders", RECORDS)
        assert consumed(broker, "orders") == Counter(map(str, range(RECORDS)))
        described = run(broker, Tool.SHARE_GROUPS, "--describe", "--group", "orders").split("\n")
        lags = [line.split()[-1] for line in described if line.startswith("orders")]
        assert lags == ["0"] * 3
        assert complaints(broker) == []


def test_what_is_released_comes_back_until_it_is_given_up() -> None:
    """Rejected on its last delivery or not, a record is delivered twice and never again."""
    with Broker(beside=True) as broker:
        create_topic(broker.bootstrap, "poison", 1)
        configure(broker.bootstrap, "poison", share_delivery_count_limit="2")
        publish(broker.bootstrap, "poison", 3)
        assert consumed(broker, "poison", "--release", wanted=6) == Counter({"0": 2, "1": 2, "2": 2})
        described = run(broker, Tool.SHARE_GROUPS, "--describe", "--group", "poison")
        assert [line.split()[-1] for line in described.split("\n") if line.startswith("poison")] == ["0"]
