"""What the gates cost where nobody has set one up: `python -m bench.gates [--quick]` loads two nodes by turns, the real
one and one from whose source the questions were taken (`ungated`), with small requests and with 16 KB batches.

Prints the median of the ratios of neighbouring runs, so that the machine's mood weighs on both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

from bench.brokers import Broker, PenstockBroker, penstock_command, seconds_to_first_reply
from bench.loadgen import Figures
from bench.run import running, say
from bench.scenarios import FULL, QUICK, Scale, batches_16k, small_requests
from tests.kafka_peer import free_ports

LOSS_PERCENT_MAX: Final = 2.0
ROUNDS: Final = 8
Load = Callable[[Broker, Scale], Figures]
LOADS: Final[dict[str, tuple[Load, str]]] = {
    "small requests": (small_requests, "requests_per_s"),
    "16 KB batches": (batches_16k, "mb_per_s"),
}


UNGATED: Final = Path(__file__).with_name("ungated.py")


class Node(PenstockBroker):
    """A broker and a controller, started by some command."""

    def __init__(self, name: str, command: list[str]) -> None:
        super().__init__()
        self.name = name
        self._command = command
        (controller,) = free_ports(1)
        self._settings |= {
            "node.id": "1",
            "process.roles": "broker,controller",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "log.dirs": str(self.data_dir),
            "penstock.metrics.port": str(self.metrics_port),
        }

    def start(self) -> None:
        config = self._folder / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in self._settings.items()))
        command = [*self._command, "node", "--config", str(config)]
        self._process, _ = seconds_to_first_reply(command, self.port, self._folder)


def loss_percent(load: Load, key: str, scale: Scale, gated: Broker, ungated: Broker) -> float:
    ratios = []
    for number in range(scale.rounds):
        order = (gated, ungated) if number % 2 else (ungated, gated)
        figures = {broker.name: load(broker, scale)[key] for broker in order}
        ratios.append(figures[gated.name] / figures[ungated.name])
        say(f"{key}: {figures[gated.name]:,.0f} with gates, {figures[ungated.name]:,.0f} without: {ratios[-1]:.3f}")
    return (1 - median(ratios)) * 100


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.gates", description="What gates cost that nobody has set up.")
    parser.add_argument("--quick", action="store_true", help="one short round: a hint")
    scale = QUICK if parser.parse_args().quick else replace(FULL, rounds=ROUNDS, seconds=2)
    is_missed = False
    real, without = Node("gated", penstock_command()), Node("ungated", [sys.executable, str(UNGATED)])
    with running(real, without) as (gated, ungated):
        for name, (load, key) in LOADS.items():
            for broker in (gated, ungated):
                load(broker, replace(scale, seconds=scale.broker_warmup_s // 2))
            loss = loss_percent(load, key, scale, gated, ungated)
            is_missed = is_missed or loss > LOSS_PERCENT_MAX
            verdict = "MISS" if loss > LOSS_PERCENT_MAX else "pass"
            print(f"{name}: {loss:+.1f} % lost to the gates, must be <= {LOSS_PERCENT_MAX:g} %: {verdict}")
    return 1 if is_missed else 0


if __name__ == "__main__":
    sys.exit(main())
