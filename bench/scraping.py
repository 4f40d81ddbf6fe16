"""What being scraped costs: a node whose metrics are read every few seconds beside one whose are not, by turns.

Run with `python -m bench.scraping`, on a quiet machine. Both are Penstock and hold as many other partitions; the ratio
is the scraped one's figure by the other's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import threading
from contextlib import suppress
from typing import Final
from urllib.request import urlopen

from bench.brokers import Broker, PenstockBroker
from bench.report import Rounds
from bench.run import running, say, take_turns
from bench.scenarios import FULL, QUICK, SCENARIOS, Scale, Scenario, warm_up
from penstock.client.admin import Admin
from penstock.client.blocking import Client

MEASURED: Final = ("small_requests", "batches_16k", "one_partition_100k", "fetch_1mb")
TIMEOUT_S: Final = 30.0
TOPIC_PARTITIONS: Final = 500


class ScrapedBroker(PenstockBroker):
    name = "scraped"


class Scraper:
    """Reads a broker's metrics again and again, until it is told to stop."""

    def __init__(self, broker: PenstockBroker, path: str, interval_s: float) -> None:
        self._address = f"http://127.0.0.1:{broker.metrics_port}{path}"
        self._interval_s = interval_s
        self._is_over = threading.Event()
        self.scrapes = self.size_bytes = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Scraper:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(self._interval_s):
            with suppress(OSError), urlopen(self._address, timeout=TIMEOUT_S) as answer:
                self.size_bytes = len(answer.read())
                self.scrapes += 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.scraping", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round of short runs: a hint")
    parser.add_argument("--only", action="append", choices=MEASURED, help="this load; repeatable")
    parser.add_argument("--path", default="/metrics", help="what is read: /metrics or /metrics/full")
    parser.add_argument("--interval", type=float, default=5.0, help="seconds between two scrapes")
    parser.add_argument("--partitions", type=int, default=1_000, help="partitions that just lie there")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else FULL
    chosen = [each for each in SCENARIOS if each.name in (arguments.only or MEASURED)]
    if os.getloadavg()[0] > 0.5:
        say("a rough run: the machine has other work")
    plain, scraped = PenstockBroker(), ScrapedBroker()
    with running(plain, scraped) as brokers:
        for broker in (plain, scraped):
            _fill(broker, arguments.partitions)
        with Scraper(scraped, arguments.path, arguments.interval) as scraper:
            _measure(chosen, scale, brokers)
        print(f"{scraper.scrapes} scrapes of {scraper.size_bytes:,} bytes")
    return 0


def _fill(broker: PenstockBroker, partitions: int) -> None:
    with Client(f"127.0.0.1:{broker.port}") as client:
        admin = Admin(client)
        for number, at in enumerate(range(0, partitions, TOPIC_PARTITIONS)):
            admin.create_topic(f"quiet-{number}", min(TOPIC_PARTITIONS, partitions - at))


def _measure(chosen: list[Scenario], scale: Scale, brokers: list[Broker]) -> None:
    for broker in brokers:
        warm_up(broker, scale)
    for scenario in chosen:
        rounds = take_turns(scenario, scale, brokers)
        for metric in scenario.metrics:
            plain, scraped = (_median(rounds, broker.name, metric.key) for broker in brokers)
            if plain:
                figures = f"{plain:12,.4g} {scraped:12,.4g} {metric.unit:8} {scraped / plain:5.3f}x"
                print(f"{scenario.name:20} {metric.key:16} {figures}")


def _median(rounds: Rounds, name: str, key: str) -> float:
    return statistics.median(figures[key] for figures in rounds[name])


if __name__ == "__main__":
    sys.exit(main())
