"""Kafka's own tool subscribes to clients' metrics, and Kafka's own producer pushes them."""

from __future__ import annotations

import subprocess
from urllib.request import urlopen

import pytest

from penstock.testing import Broker
from tests.kafka_peer.tools import Tool, java_command, java_tool
from tests.waiting import wait_until

JAVA = 'client_software="apache-kafka-java'

pytestmark = [pytest.mark.java, pytest.mark.slow]


def test_a_java_producer_pushes_what_the_tool_asks_for(name: str) -> None:
    with Broker(beside=True) as broker:
        server = ("--bootstrap-server", broker.bootstrap)

        def tool(*arguments: str) -> str:
            done = java_tool(Tool.CLIENT_METRICS, *server, *arguments)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        tool("--alter", "--name", "producers", "--metrics", "org.apache.kafka.producer.", "--interval", "200")
        assert "producers" in tool("--list")
        described = tool("--describe", "--name", "producers")
        assert "interval.ms=200" in described
        assert "metrics=org.apache.kafka.producer." in described
        command = java_command(
            Tool.VERIFIABLE_PRODUCER, *server, "--topic", name, "--max-messages", "100000", "--throughput", "200"
        )
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as producer:
            try:
                # Its other connections have clients of their own, of the same software.
                wait_until(lambda: JAVA in told(broker), what="the producer's metrics are told")
            finally:
                producer.terminate()
        tool("--delete", "--name", "producers")
        assert "producers" not in tool("--list")


def told(broker: Broker) -> str:
    """Lines of clients' metrics."""
    with urlopen(f"http://{broker.host}:{broker._ports.http}/metrics/full", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return "\n".join(line for line in lines if line.startswith("org_apache_kafka_producer_"))
