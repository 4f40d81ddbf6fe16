"""What a node in a thread and a node in a child process have in common: start, say where, serve until told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from penstock.core.base.settings import BrokerSettings
from penstock.core.node.node import Node
from penstock.core.node.observing.event_log import Tell
from penstock.shell.main import Host

LOOPBACK = "127.0.0.1"
LISTENER = "PLAINTEXT"
METRICS_PORT_KEY = "penstock.metrics.port"

# A test wants its first answer at once, and few files; it is told about everything that differs in docs/testing.md.
FRIENDLY = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    # Build machines run with full disks; a test that is about that sets its own.
    "penstock.disk.full.ratio": "1",
}


class Ports(NamedTuple):
    """Where a node listens; 0 asks for any free port."""

    kafka: int = 0
    http: int = 0


def node_settings(given: Mapping[str, str], folder: str, ports: Ports) -> dict[str, str]:
    """All settings of a test node: the friendly ones give way to the given ones, those that make it ours do not."""
    return {
        **FRIENDLY,
        "node.id": "1",
        **given,
        "process.roles": "broker,controller",
        "listeners": f"{LISTENER}://{LOOPBACK}:{ports.kafka},CONTROLLER://{LOOPBACK}:0",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"{given.get('node.id', '1')}@{LOOPBACK}:1",
        "log.dirs": folder,
        METRICS_PORT_KEY: str(ports.http),
    }


async def serve(
    settings: Mapping[str, str],
    tell: Tell,
    on_ready: Callable[[Ports, Node], None],
    stop: asyncio.Event,
) -> int:
    """Run one node; gives the exit code."""
    host = Host(BrokerSettings(settings), tell)
    try:
        await host.start()
        assert host.http_port is not None, "a test node serves its metrics"
        on_ready(Ports(host.addresses[0][1], host.http_port), host.node)
        await host.wait(stop)
        return await host.stop()
    finally:
        host.close()
