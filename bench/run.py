"""`make bench`: both brokers up, one loaded at a time, taking turns, and the verdict.

    python -m bench.run [--quick] [--only NAME]... [--rounds N] [--no-kafka] [--no-penstock] [--no-floor] [--name NAME]

Ends with 1 when a floor is missed, so that a change that costs speed is seen.
"""

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path

from bench.brokers import Broker, FloorBroker, KafkaBroker, PenstockBroker
from bench.report import Line, Rounds, draw, lines_of, print_table, write_results
from bench.scenarios import FULL, QUICK, SCENARIOS, Scale, Scenario, warm_up
from tests.kafka_peer import KAFKA_VERSION

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"

Kind = type[KafkaBroker] | type[PenstockBroker] | type[FloorBroker]

# These say nothing about speed, so a cold broker serves as well as a warm one.
NEEDS_NO_WARM_UP = {"first_reply", "idle"}


def main() -> int:
    arguments = parse_arguments()
    scale = QUICK if arguments.quick else FULL
    if arguments.rounds:
        scale = replace(scale, rounds=arguments.rounds)
    chosen = [scenario for scenario in SCENARIOS if not arguments.only or scenario.name in arguments.only]
    if scale.rounds < FULL.rounds or os.getloadavg()[0] > 0.5:
        say("a rough run: few rounds, or the machine has other work; its ratios are hints")
    kinds = [kind for kind in (KafkaBroker, PenstockBroker, FloorBroker) if getattr(arguments, kind.name)]
    rounds = measure(chosen, scale, kinds)
    lines = [line for scenario in chosen for line in lines_of(scenario, rounds.get(scenario.name, {}))]
    print_table(lines)
    keep(lines, rounds, arguments.name or ("quick" if arguments.quick else "full"))
    return 1 if any(line.verdict == "MISS" for line in lines) else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Penstock beside Apache Kafka on this machine.")
    parser.add_argument("--quick", action="store_true", help="one round of short runs")
    parser.add_argument(
        "--only", action="append", choices=[s.name for s in SCENARIOS], help="this scenario; repeatable"
    )
    parser.add_argument("--rounds", type=int, help="rounds per scenario")
    parser.add_argument("--kafka", action=argparse.BooleanOptionalAction, default=True, help="measure Kafka too")
    parser.add_argument("--penstock", action=argparse.BooleanOptionalAction, default=True, help="measure Penstock")
    parser.add_argument("--floor", action=argparse.BooleanOptionalAction, default=True, help="measure the C floor")
    parser.add_argument("--name", help="what the result's file is called, after the date")
    return parser.parse_args()


def measure(chosen: list[Scenario], scale: Scale, kinds: list[Kind]) -> dict[str, Rounds]:
    together = [scenario for scenario in chosen if scenario.alone is None]
    rounds: dict[str, Rounds] = {}
    if together:
        with running(*(kind() for kind in kinds)) as brokers:
            if any(scenario.name not in NEEDS_NO_WARM_UP for scenario in together):
                warm_up_all(brokers, scale)
            for scenario in together:
                rounds[scenario.name] = take_turns(scenario, scale, brokers)
    for scenario in chosen:
        if scenario.alone is not None and PenstockBroker in kinds:
            with running(scenario.alone()) as brokers:
                rounds[scenario.name] = take_turns(scenario, scale, brokers)
    return rounds


def warm_up_all(brokers: list[Broker], scale: Scale) -> None:
    for broker in brokers:
        if broker.has_topics:
            say(f"warming up {broker.name}")
            warm_up(broker, scale)


def take_turns(scenario: Scenario, scale: Scale, brokers: list[Broker]) -> Rounds:
    """The order changes every round, so that neither always runs on the machine the other has just warmed."""
    brokers = [broker for broker in brokers if broker.has_topics or scenario.raw]
    rounds: Rounds = {broker.name: [] for broker in brokers}
    for number in range(scenario.rounds or scale.rounds):
        for broker in brokers if number % 2 == 0 else brokers[::-1]:
            figures = scenario.run(broker, scale)
            rounds[broker.name].append(figures)
            shown = "  ".join(f"{m.key} {figures[m.key]:,.4g} {m.unit}" for m in scenario.metrics if m.key in figures)
            say(f"{scenario.name} {number + 1} {broker.name:8} {shown}")
    return rounds


@contextmanager
def running(*brokers: Broker) -> Iterator[list[Broker]]:
    try:
        for broker in brokers:
            if broker.has_topics:
                say(f"starting {broker.name}")
                broker.start()
        yield list(brokers)
    finally:
        for broker in brokers:
            broker.close()


def keep(lines: list[Line], rounds: dict[str, Rounds], name: str, rival: str = "Apache Kafka") -> None:
    machine = {
        "date": date.today().isoformat(),
        "commit": commit(),
        "kafka": KAFKA_VERSION,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count(),
        "storage": os.environ.get("BENCH_DIR") or "tmpfs",
    }
    path = RESULTS / f"{date.today().isoformat()}-{name}.json"
    write_results(path, machine, lines, rounds)
    draw(path.with_suffix(".png"), lines, rival)
    say(f"kept in {path.relative_to(ROOT)}")


def commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
