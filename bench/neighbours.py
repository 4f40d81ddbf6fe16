"""What others may do to a client: `python -m bench.neighbours [--quick] [--only quotas|tenants|attacks]...`

- quotas: whoever could send and fetch at any speed is held to 10 MB/s, over three times the windows of a quota;
- tenants: the wait of a client that sends evenly, beside a tenant who is at its quota all the time, by the wait alone;
- attacks: the same beside each kind of attack on the listeners that ask who it is.

A client's time counts from when its request was due. Each part takes up to two minutes. As in Kafka, whoever could be
much faster has its quota in bursts: all that ten windows of a second let through at once, and then little until the
first of them is forgotten. `--windows 2` (`quota.window.num`) makes the bursts as short as can be.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from bench.attacks import KINDS, STOP_S_MAX, under_attack
from bench.clients import MORE_SETTINGS
from bench.guarded import LOOPBACK, PASSWORD, GuardedPenstock, Stores
from bench.loadgen import Figures, Options, run_load
from bench.report import Rounds, lines_of, print_table
from bench.run import keep, running, say
from bench.scenarios import SMALL_BATCHES, Metric
from bench.topics import topic
from penstock.client.blocking import Client
from penstock.client.quotas import alter_quotas
from penstock.core.base.quotas import FETCH, PRODUCE, USER
from tests.conformance.security.nodes import PLAIN_MODULE
from tests.kafka_peer import free_ports

QUOTA_MB: Final = 10.0
WINDOWS: Final = 11
"""Of a second each, by default."""
SETTLE_S: Final = 12.0
TENANT, EVERYBODY = "noisy", "ANONYMOUS"
ENDLESS_RECORDS: Final = 1_000_000_000
STEADY: Final[Options] = {"partitions": 1, "connections": 1, "depth": 64, "records": 1, "value_bytes": 100, "rate": 500}


class Scale(NamedTuple):
    rounds: int
    seconds: float


FULL: Final = Scale(rounds=2, seconds=6)
QUICK: Final = Scale(rounds=1, seconds=3)
QUOTA_S: Final = 3.0 * WINDOWS


class Part(NamedTuple):
    name: str
    metrics: tuple[Metric, ...]
    run: Callable[[Neighbourhood, Scale], list[Figures]]


class Neighbourhood(GuardedPenstock):
    """With a listener more, at which tenants log in without TLS."""

    def __init__(self, stores: Stores, windows: int) -> None:
        super().__init__(stores)
        (self.login_port,) = free_ports(1)
        self._settings["listeners"] += f",LOGIN://{LOOPBACK}:{self.login_port}"
        self._settings["listener.security.protocol.map"] += ",LOGIN:SASL_PLAINTEXT"
        self._settings |= {
            "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.login.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_{TENANT}="{PASSWORD}";',
            # Who attacks with hundreds of connections comes from one address, and is not to be turned away for that.
            "max.connections": "5000",
            "quota.window.num": str(windows),
        }

    def hold(self, user: str, **quotas: float | None) -> None:
        with Client(f"{LOOPBACK}:{self.port}") as client:
            alter_quotas(client, ((USER, user),), quotas)


def quotas(node: Neighbourhood, scale: Scale) -> list[Figures]:
    """How far from the quota, in percent of it, either way."""
    figures: Figures = {}
    with topic(node, 4) as name:
        load: Options = {"port": node.port, "topic": name, "partitions": 4, "connections": 4, **SMALL_BATCHES}
        filled = run_load("produce", {**load, "depth": 5, "seconds": QUOTA_S, "warmup_s": 0, "volume_mb_max": 200})
        batches = int(filled["volume_mb"] * 1e6 / filled["batch_bytes"]) // 4
        held: Options = {"seconds": QUOTA_S if scale is FULL else WINDOWS, "warmup_s": 0}
        for mode, key, more in (
            ("produce", PRODUCE, {"depth": 2}),
            ("fetch", FETCH, {"depth": 1, "fetch_bytes": 200_000, "end_offset": batches * 160 // 2}),
        ):
            node.hold(EVERYBODY, **{key: QUOTA_MB * 1e6})
            found = run_load(mode, {**load, **more, **held})
            node.hold(EVERYBODY, **{key: None})
            figures[f"{mode}_mb_per_s"] = found["mb_per_s"]
            figures[f"{mode}_off_percent"] = abs(found["mb_per_s"] / QUOTA_MB - 1) * 100
            say(f"quotas: {mode} {found['mb_per_s']:.2f} MB/s of {QUOTA_MB:g}")
    return [figures]


def wait_ms(node: Neighbourhood, scale: Scale, name: str) -> float:
    """The 99th percentile of a client that sends evenly."""
    load: Options = {"port": node.port, "topic": name, "seconds": scale.seconds, "warmup_s": 1}
    return run_load("produce", {**load, **STEADY})["p99_ms"]


def tenants(node: Neighbourhood, scale: Scale) -> list[Figures]:
    node.hold(TENANT, **{PRODUCE: QUOTA_MB * 1e6})
    found = []
    with topic(node, 1) as mine, topic(node, 4) as theirs:
        for _ in range(scale.rounds):
            alone_ms = wait_ms(node, scale, mine)
            with noise(node, theirs):
                time.sleep(SETTLE_S)
                beside_ms = wait_ms(node, scale, mine)
            say(f"tenants: p99 {alone_ms:.2f} ms alone, {beside_ms:.2f} ms beside the other")
            found.append({"alone_p99_ms": alone_ms, "beside_p99_ms": beside_ms, "beside_ratio": beside_ms / alone_ms})
    return found


@contextmanager
def noise(node: Neighbourhood, name: str) -> Iterator[None]:
    """A tenant that sends all it can."""
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    who = {**login, "sasl.username": TENANT, "sasl.password": PASSWORD}
    arguments = ["produce", str(node.login_port), name, "4", str(ENDLESS_RECORDS), "1000"]
    command = [sys.executable, "-m", "bench.clients", *arguments]
    with subprocess.Popen(command, env={**os.environ, MORE_SETTINGS: json.dumps(who)}) as process:
        try:
            yield
            assert process.poll() is None, "the noisy tenant has given up"
        finally:
            process.kill()
            process.wait(STOP_S_MAX)


def attacks(node: Neighbourhood, scale: Scale) -> list[Figures]:
    found: list[Figures] = []
    with topic(node, 1) as name:
        for _ in range(scale.rounds):
            figures: Figures = {}
            for kind in KINDS:
                figures["quiet_p99_ms"] = quiet_ms = wait_ms(node, scale, name)
                with under_attack(kind, node.secure_port if kind == "hello" else node.login_port):
                    figures[f"{kind}_p99_ms"] = attacked_ms = wait_ms(node, scale, name)
                figures[f"{kind}_ratio"] = attacked_ms / quiet_ms
                say(f"attacks: p99 {quiet_ms:.2f} ms quiet, {attacked_ms:.2f} ms under {kind}")
            found.append(figures)
    return found


def figures_of(name: str, unit: str, limit: float | None = None) -> Metric:
    return Metric(name, unit, higher_is_better=False, limit=limit)


PARTS: Final = (
    Part("quotas", tuple(figures_of(f"{mode}_off_percent", "%", 10) for mode in ("produce", "fetch")), quotas),
    Part(
        "tenants",
        (*(figures_of(f"{when}_p99_ms", "ms") for when in ("alone", "beside")), figures_of("beside_ratio", "x", 2)),
        tenants,
    ),
    Part(
        "attacks",
        (figures_of("quiet_p99_ms", "ms"), *(figures_of(f"{kind}_ratio", "x", 3) for kind in KINDS)),
        attacks,
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.neighbours", description="What others may do to a client.")
    parser.add_argument("--quick", action="store_true", help="one short round: a hint")
    parser.add_argument("--only", action="append", choices=[part.name for part in PARTS], help="this part; repeatable")
    parser.add_argument("--windows", type=int, default=WINDOWS, help="over which a quota looks back, of a second each")
    arguments = parser.parse_args()
    scale, chosen = QUICK if arguments.quick else FULL, [p for p in PARTS if p.name in (arguments.only or p.name)]
    if os.getloadavg()[0] > 0.5:
        say("a rough run: the machine has other work")
    rounds: dict[str, Rounds] = {}
    node = Neighbourhood(Stores(), arguments.windows)
    with running(node):
        for part in chosen:
            rounds[part.name] = {"penstock": part.run(node, scale)}
    lines = [line for part in chosen for line in lines_of(part, rounds[part.name])]
    print_table(lines, "What others may do to a client")
    if not arguments.quick:
        keep(lines, rounds, "neighbours")
    return 1 if any(line.verdict == "MISS" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
