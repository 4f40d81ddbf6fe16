"""What a node says over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.shell import http
from penstock.shell.exposition.rendering import Exposition
from penstock.shell.main import Host
from tests.node.world import produce
from tests.shell.hosting import Peer, hosted, run, until

READY = {"ready": True, "state": "running", "reasons": [], "complaints": []}


async def get(host: Host, line: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", host.http_port)
    writer.write(f"{line} HTTP/1.1\r\nHost: test\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    assert f"Content-Length: {len(body.encode())}" in head or line.startswith("HEAD")
    return int(head.split()[1]), body


def test_metrics_and_health(tmp_path: Path) -> None:
    async def test() -> None:
        async with hosted(tmp_path) as host:
            peer = await Peer.connect(host)
            await peer.create("t")
            await peer.ask(produce("t", b"a", b"b"), 9)
            status, body = await get(host, "GET /metrics/full")
            assert status == 200
            samples = {
                (sample.name, *sorted(sample.labels.values())): sample.value
                for family in text_string_to_metric_families(body)
                for sample in family.samples
            }
            assert samples["penstock_request_duration_seconds_count", "Produce"] == 1
            assert samples["penstock_log_end_offset", "0", "t"] == 2
            assert samples["penstock_connections",] == 1
            assert samples["penstock_bytes_in_total",] > 0
            status, body = await get(host, "GET /health/ready")
            assert (status, json.loads(body)) == (200, READY)
            assert await get(host, "GET /health/live") == (200, "live\n")
            host.node.state = "stopping"
            status, body = await get(host, "GET /health/ready")
            assert status == 503
            assert json.loads(body)["reasons"] == ["the node is stopping"]
            host.node.state = "running"
            assert await get(host, "HEAD /metrics") == (200, "")
            assert (await get(host, "GET /nothing"))[0] == 404
            assert (await get(host, "POST /metrics"))[0] == 405
            assert (await get(host, "GET /" + "x" * 20_000))[0] in (404, 431)
            peer.close()

    run(test)


def test_many_and_slow_readers_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "ASKING_S_MAX", 0.2)
    monkeypatch.setattr(http, "CLIENTS_MAX", 4)
    monkeypatch.setattr(http, "CONNECTIONS_MAX", 8)

    async def test() -> None:
        async with hosted(tmp_path) as host:
            silent = [await asyncio.open_connection("127.0.0.1", host.http_port) for _ in range(5)]
            status, body = await get(host, "GET /metrics")
            assert (status, body) == (503, "too many readers at one time\n")
            for reader, writer in silent:
                assert await reader.read() == b"", "who asks for nothing is cut off"
                writer.close()
            assert (await get(host, "GET /metrics"))[0] == 200
            crowd = [await asyncio.open_connection("127.0.0.1", host.http_port) for _ in range(12)]
            gone = [asyncio.ensure_future(reader.read()) for reader, _ in crowd]
            done, _ = await asyncio.wait(gone, return_when=asyncio.FIRST_COMPLETED)
            assert done, "beyond a bound nobody is let in at all"
            await asyncio.gather(*gone, return_exceptions=True)
            for _, writer in crowd:
                writer.close()

    run(test)


class Unread(asyncio.Transport):
    """A socket whose other end takes nothing."""

    is_cut = False

    def is_closing(self) -> bool:
        return False

    def writelines(self, list_of_data: object) -> None:
        """It stays here."""

    def close(self) -> None:
        """What was written has to leave first."""

    def abort(self) -> None:
        self.is_cut = True


def test_an_answer_is_not_kept_for_who_does_not_take_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "READING_S_MAX", 0.05)

    async def test() -> None:
        async with hosted(tmp_path) as host:
            transport, front = Unread(), http.HttpFront(host.server, Exposition(host.node))
            client = http.HttpClient(front)
            client.connection_made(transport)
            client.data_received(b"GET /health/live HTTP/1.1\r\n\r\n")
            await until(lambda: transport.is_cut, "it is cut off")
            client.connection_lost(None)
            assert not front.clients

    run(test)


def test_openmetrics_is_given_to_who_asks_for_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with hosted(tmp_path) as host:
            reader, writer = await asyncio.open_connection("127.0.0.1", host.http_port)
            writer.write(b"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0,*/*\r\n\r\n")
            answer = (await reader.read()).decode()
            writer.close()
            assert "Content-Type: application/openmetrics-text; version=1.0.0" in answer
            assert answer.endswith("# EOF\n")

    run(test)
