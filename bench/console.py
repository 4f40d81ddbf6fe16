"""How long the console's pages take, and how much memory it has, beside a cluster with ten thousand topics and groups.

    python -m bench.console [--topics 10000] [--groups 10000]

The first request of each page is told apart: what it remembers is not there yet.
"""

from __future__ import annotations

import argparse
import http.client
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Final
from urllib.parse import urlsplit

from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from penstock.testing.broker import Broker

AT_ONCE: Final = 500
ROUNDS: Final = 15
PATHS: Final = (
    "/",
    "/topics",
    "/topics?q=42",
    "/topics?page=150",
    "/topics/t-00042",
    "/topics/t-00042/messages",
    "/groups",
    "/groups?page=150",
    "/groups/view?name=g-00042",
    "/brokers",
    "/brokers?page=200",
)


def fill(bootstrap: str, topics: int, groups: int) -> None:
    with Client(bootstrap, timeout=120) as client:
        for first in range(0, topics, AT_ONCE):
            wanted = [
                CreatableTopic(name=f"t-{number:05}", num_partitions=1, replication_factor=1)
                for number in range(first, min(first + AT_ONCE, topics))
            ]
            client.ask(CreateTopicsRequest(topics=wanted, timeout_ms=120_000), CreateTopicsResponse)
        for number in range(groups):
            Groups(client).commit(f"g-{number:05}", {TopicPartition(f"t-{number % topics:05}", 0): 0})


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def timed_ms(connection: http.client.HTTPConnection, path: str, cookie: str) -> tuple[float, int]:
    began = time.perf_counter()
    connection.request("GET", path, headers={"cookie": cookie})
    answer = connection.getresponse()
    size = len(answer.read())
    if answer.status != 200:
        raise SystemExit(f"{path}: {answer.status}")
    return (time.perf_counter() - began) * 1000, size


def measure(url: str, pid: int) -> None:
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    connection.request("GET", "/static/console.css")
    connection.getresponse().read()
    connection.request("GET", "/quorum")
    answer = connection.getresponse()
    answer.read()
    cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
    print(f"{'page':32}{'first':>10}{'median':>10}{'worst':>10}{'KB':>8}")
    for path in PATHS:
        times = [timed_ms(connection, path, cookie) for _ in range(ROUNDS)]
        first, *rest = [each for each, _ in times]
        print(f"{path:32}{first:8.0f}ms{median(rest):8.0f}ms{max(rest):8.0f}ms{times[0][1] / 1024:8.0f}")
    print(f"resident: {resident_mb(pid):.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--groups", type=int, default=10_000)
    asked = parser.parse_args()
    with Broker({"group.initial.rebalance.delay.ms": 0}, beside=True) as broker:
        began = time.monotonic()
        fill(broker.bootstrap, asked.topics, asked.groups)
        print(f"{asked.topics} topics and {asked.groups} groups in {time.monotonic() - began:.0f} s")
        words = [sys.executable, "-m", "penstock.cli.main", "console", "-b", broker.bootstrap, "--port", "0"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            try:
                url = next(line.split()[1] for line in process.stderr if line.startswith("console: "))
                measure(url, process.pid)
            finally:
                process.terminate()


if __name__ == "__main__":
    main()
