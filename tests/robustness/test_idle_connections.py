"""Connections that do nothing cost next to nothing."""

from __future__ import annotations

import resource
import socket
from contextlib import ExitStack

import pytest

from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.frames import request_frame
from penstock.testing import Broker
from tests.robustness.process import resident_kb
from tests.robustness.test_many_partitions import open_files_limit

CONNECTIONS = 1_000
CONNECTIONS_SOAK = 10_000
KB_MAX = 20
SPARE_FILES = 500


def hello() -> bytes:
    request = ApiVersionsRequest(client_software_name="idle", client_software_version="1")
    parts = request_frame(request, ApiVersionsRequest.KEY, 3, 1, "idle")
    return b"".join(bytes(part) for part in parts)


def connect(broker: Broker) -> socket.socket:
    """A connection that has been used once, as every real one has."""
    client = socket.create_connection((broker.host, broker.port), 30)
    client.sendall(hello())
    assert client.recv(1 << 16)
    return client


def kb_each(broker: Broker, count: int) -> float:
    with ExitStack() as stack:
        # What the first ones cost beyond themselves does not count.
        for _ in range(50):
            stack.enter_context(connect(broker))
        before_kb = resident_kb(broker.pid)
        for _ in range(count):
            stack.enter_context(connect(broker))
        assert broker.metrics()["penstock_connections"] >= count + 50
        return (resident_kb(broker.pid) - before_kb) / count


def check(count: int) -> None:
    files = max(count + SPARE_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    with open_files_limit(files), Broker({"penstock.open.files.max": "64"}, beside=True) as broker:
        assert kb_each(broker, count) <= KB_MAX


@pytest.mark.slow
def test_a_thousand_idle_connections() -> None:
    check(CONNECTIONS)


@pytest.mark.soak
def test_ten_thousand_idle_connections() -> None:
    check(CONNECTIONS_SOAK)
