"""The peer is only worth something if it is Kafka: started, used by Kafka's own tools, read by its own dump."""

from collections.abc import Iterator

import pytest

from tests.kafka_peer import KafkaPeer, Tool, answers_api_versions, free_ports, java_tool

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPIC = "peer-check"
LINES = "one\ntwo\nthree\n"


@pytest.fixture(scope="module")
def peer() -> Iterator[KafkaPeer]:
    with KafkaPeer() as running:
        yield running


def test_a_topic_is_made_written_read_and_dumped(peer: KafkaPeer) -> None:
    created = peer.tool(Tool.TOPICS, "--create", "--topic", TOPIC, "--partitions", "1")
    assert created.returncode == 0, created.stderr
    produced = peer.tool(Tool.CONSOLE_PRODUCER, "--topic", TOPIC, input=LINES)
    assert produced.returncode == 0, produced.stderr
    limit = ("--max-messages", "3", "--timeout-ms", "20000")
    consumed = peer.tool(Tool.CONSOLE_CONSUMER, "--topic", TOPIC, "--from-beginning", *limit)
    assert consumed.stdout == LINES
    segment = peer.log_dir / f"{TOPIC}-0" / "00000000000000000000.log"
    dumped = java_tool(Tool.DUMP_LOG, "--files", segment, "--print-data-log")
    assert dumped.returncode == 0, dumped.stderr
    assert [line.rpartition("payload: ")[2] for line in dumped.stdout.splitlines() if "payload" in line] == [
        "one",
        "two",
        "three",
    ]


def test_nobody_answers_on_a_free_port() -> None:
    (port,) = free_ports(1)
    assert not answers_api_versions(port)


def test_a_tool_that_fails_says_so(peer: KafkaPeer) -> None:
    missing = peer.tool(Tool.TOPICS, "--describe", "--topic", "no-such-topic")
    assert missing.returncode != 0
    assert "no-such-topic" in missing.stdout + missing.stderr
