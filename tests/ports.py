"""Where `penstock up` can be started."""

from __future__ import annotations

from penstock.cli.node_settings import METRICS_PORT_OFFSET, Ports
from tests.kafka_peer import free_ports, is_free


def free_base_port(nodes: int = 1) -> int:
    """A port that is free together with all that follow from it for so many nodes."""
    while True:
        (port,) = free_ports(1)
        members = [Ports(number, port, port + METRICS_PORT_OFFSET) for number in range(1, nodes + 1)]
        if all(is_free(each) for ports in members for each in ports.all()):
            return port
