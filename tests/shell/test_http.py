"""What a node says over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from penstock.shell.main import Host
from tests.node.world import produce
from tests.shell.hosting import Peer, hosted, run


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
            status, body = await get(host, "GET /metrics")
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
            assert await get(host, "GET /health/ready") == (200, "running\n")
            assert await get(host, "GET /health/live") == (200, "live\n")
            host.node.state = "stopping"
            assert await get(host, "GET /health/ready") == (503, "stopping\n")
            host.node.state = "running"
            assert await get(host, "HEAD /metrics") == (200, "")
            assert (await get(host, "GET /nothing"))[0] == 404
            assert (await get(host, "POST /metrics"))[0] == 405
            assert (await get(host, "GET /" + "x" * 20_000))[0] in (404, 431)
            peer.close()

    run(test)
