"""What encryption at rest costs: a node that seals its files beside one that does not, in one run, by turns.

Run with `python -m bench.sealing`, on a quiet machine. Both are Penstock; the ratio is the sealed one's figure by the
plain one's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Final

from bench.brokers import Broker, PenstockBroker
from bench.report import Rounds
from bench.run import running, say, take_turns
from bench.scenarios import FULL, QUICK, SCENARIOS, Scale, Scenario, warm_up

MEASURED: Final = ("small_requests", "batches_16k", "one_partition_100k", "latency_depth_1", "fetch_1mb")


class SealedBroker(PenstockBroker):
    name = "sealed"

    def __init__(self, keys: Path) -> None:
        super().__init__(settings={"penstock.encryption.keys.file": str(keys)})


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.sealing", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round of short runs: a hint")
    parser.add_argument("--only", action="append", choices=MEASURED, help="this load; repeatable")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else FULL
    chosen = [each for each in SCENARIOS if each.name in (arguments.only or MEASURED)]
    if os.getloadavg()[0] > 0.5:
        say("a rough run: the machine has other work")
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder, "keys")
        keys.write_text(f"bench {b64encode(os.urandom(32)).decode()}\n")
        keys.chmod(0o600)
        with running(PenstockBroker(), SealedBroker(keys)) as brokers:
            _measure(chosen, scale, brokers)
    return 0


def _measure(chosen: list[Scenario], scale: Scale, brokers: list[Broker]) -> None:
    for broker in brokers:
        warm_up(broker, scale)
    for scenario in chosen:
        rounds = take_turns(scenario, scale, brokers)
        for metric in scenario.metrics:
            plain, sealed = (_median(rounds, broker.name, metric.key) for broker in brokers)
            ratio = sealed / plain
            print(f"{scenario.name:20} {metric.key:16} {plain:12,.4g} {sealed:12,.4g} {metric.unit:8} {ratio:5.2f}x")


def _median(rounds: Rounds, name: str, key: str) -> float:
    return statistics.median(figures[key] for figures in rounds[name])


if __name__ == "__main__":
    sys.exit(main())
