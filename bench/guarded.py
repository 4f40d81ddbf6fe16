"""Penstock beside Apache Kafka with everything on: TLS, SCRAM, an authorizer with 1,000 rules, quotas.

Run with `python -m bench.guarded`, on a quiet machine. Clients over TLS are confluent-kafka, idempotent; the plain
listener, with the same rules and quotas, gets the load of `make bench`, while our metrics are scraped every five
seconds. Results are kept as those of `make bench` are.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final
from urllib.request import urlopen

from bench.brokers import (
    COMMON_SETTINGS,
    Broker,
    KafkaBroker,
    PenstockBroker,
    penstock_command,
    scratch_folder,
    seconds_to_first_reply,
)
from bench.clients import run_client
from bench.loadgen import Figures
from bench.report import Rounds, lines_of, print_table
from bench.run import keep, running, say, take_turns
from bench.scenarios import (
    CLIENT_PARTITIONS,
    FULL,
    QUICK,
    Metric,
    Scale,
    Scenario,
    batches_16k,
    small_requests,
    warm_up,
)
from bench.topics import topic
from penstock.client.acls import Acls, Rule
from penstock.client.blocking import Client
from penstock.client.quotas import alter_quotas
from penstock.client.users import set_password
from penstock.core.access.words import Operation, PatternType, Permission, Resource
from penstock.core.base.mechanisms import SCRAM_SHA_512
from penstock.core.base.quotas import FETCH, PRODUCE, REQUEST, USER
from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.tls.authority import as_pkcs12, issue, new_authority
from tests.conformance.security.nodes import SCRAM_MODULE, plain
from tests.kafka_peer import SERVER_FLAGS, KafkaPeer, free_ports

LOOPBACK: Final = "127.0.0.1"
PASSWORD: Final = "a password"
OTHERS: Final = 1_000
"""Rules about others, beside those of the clients."""
SCRAPED_S: Final = 5.0
NEVER_REACHED: Final = {PRODUCE: 1e10, FETCH: 1e10, REQUEST: 1e6}
GUARDED: Final = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    "listener.name.secure.sasl.enabled.mechanisms": SCRAM_SHA_512,
    "listener.name.secure.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
    "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": plain("node", PASSWORD),
    "sasl.mechanism.controller.protocol": "PLAIN",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:node",
    # Nobody has a rule about the cluster, so whoever comes over the plain listener may prepare it.
    "allow.everyone.if.no.acl.found": "true",
}


class Stores:
    """A certificate for both."""

    def __init__(self) -> None:
        self.folder = scratch_folder("certificates")
        authority = new_authority("authority of the bench")
        own = issue(authority, "bench", (LOOPBACK, "localhost"))
        self.ca = self.folder / "ca.pem"
        self.ca.write_text(authority.certificate)
        store = self.folder / "own.p12"
        store.write_bytes(as_pkcs12(own, authority.certificate, PASSWORD))
        self.settings = {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(store),
            "ssl.keystore.password": PASSWORD,
            "ssl.key.password": PASSWORD,
        }

    @property
    def way_in(self) -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": SCRAM_SHA_512,
            "sasl.username": "alice",
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(self.ca),
            "enable.idempotence": "true",
        }


class GuardedPeer(KafkaPeer):
    def _defaults(self) -> dict[str, str]:
        """With a third listener; the broker says where that is."""
        (self.secure_port,) = free_ports(1)
        found, more = super()._defaults(), f",SECURE://{LOOPBACK}:{self.secure_port}"
        return {**found, **{name: found[name] + more for name in ("listeners", "advertised.listeners")}}


class GuardedKafka(KafkaBroker):
    def __init__(self, stores: Stores) -> None:
        settings = {**COMMON_SETTINGS, **GUARDED, **stores.settings}
        self._peer = peer = GuardedPeer(scratch_folder("kafka"), properties=settings, flags=SERVER_FLAGS)
        self.secure_port = peer.secure_port


class GuardedPenstock(PenstockBroker):
    def __init__(self, stores: Stores) -> None:
        super().__init__(settings={**GUARDED, **stores.settings})
        self.secure_port, controller = free_ports(2)
        self._settings |= {
            "node.id": "1",
            "process.roles": "broker,controller",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
            "inter.broker.listener.name": "PLAINTEXT",
            "listeners": f"PLAINTEXT://{LOOPBACK}:{self.port},SECURE://{LOOPBACK}:{self.secure_port},"
            f"CONTROLLER://{LOOPBACK}:{controller}",
            "log.dirs": str(self.data_dir),
            "penstock.metrics.port": str(self.metrics_port),
        }

    def start(self) -> None:
        config = self._folder / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in self._settings.items()))
        command = [*penstock_command(), "node", "--config", str(config)]
        self._process, _ = seconds_to_first_reply(command, self.port, self._folder)


Guarded = GuardedKafka | GuardedPenstock


def prepare(broker: Guarded) -> None:
    """The user, the rules and the quotas."""
    with Client(f"{LOOPBACK}:{broker.port}") as client:
        set_password(client, "alice", PASSWORD, [SCRAM_SHA_512])
        for who in ("ANONYMOUS", "alice"):
            alter_quotas(client, ((USER, who),), NEVER_REACHED)
        Acls(client).add([*_rules_of_clients(), *_rules_of_others()])


def _rules_of_clients() -> Iterator[Rule]:
    for who in ("ANONYMOUS", "alice"):
        for resource in (Resource.TOPIC, Resource.GROUP):
            yield _rule(f"User:{who}", resource, "bench", PatternType.PREFIXED)


def _rules_of_others() -> Iterator[Rule]:
    for number in range(OTHERS):
        pattern = PatternType.PREFIXED if number % 2 else PatternType.LITERAL
        yield _rule(f"User:other-{number % 50}", Resource.TOPIC, f"topic-{number}", pattern)


def _rule(who: str, resource: Resource, name: str, pattern: PatternType) -> Rule:
    return Rule(who, Permission.ALLOW, Operation.ALL, resource, name, pattern, "*")


def over_tls(mode: str, value_bytes: int, way_in: Mapping[str, str]) -> Callable[[Broker, Scale], Figures]:
    def run(broker: Broker, scale: Scale) -> Figures:
        assert isinstance(broker, Guarded)
        records = scale.client_mb * 1_000_000 // value_bytes

        def once(mode: str, name: str) -> Figures:
            where = broker.secure_port
            return run_client(mode, where, name, CLIENT_PARTITIONS, records, value_bytes, dict(way_in))

        with topic(broker, CLIENT_PARTITIONS) as name:
            before = broker.usage()
            figures = once("produce", name)
            if mode == "consume":
                before, figures = broker.usage(), once("consume", name)
            spent_s = broker.usage().cpu_s - before.cpu_s
            return {**figures, "broker_cpu_us_per_record": spent_s * 1e6 / records}

    return run


def scenarios(way_in: Mapping[str, str]) -> list[Scenario]:
    at_least = (Metric("records_per_s", "records/s", True, 1.0), Metric("broker_cpu_us_per_record", "us", False))
    found = [
        Scenario(f"tls_{mode}_{size}", f"TLS, SCRAM, rules: {mode}s {size} B", over_tls(mode, size, way_in), at_least)
        for mode in ("produce", "consume")
        for size in (100, 1024)
    ]
    small, large = Metric("requests_per_s", "req/s", True, 1.3), Metric("mb_per_s", "MB/s", True, 1.2)
    return [
        *found,
        Scenario("ruled_small_requests", "1,000 rules, quotas: one 100 B record per request", small_requests, (small,)),
        Scenario("ruled_batches_16k", "1,000 rules, quotas: 16 KB batches", batches_16k, (large,)),
    ]


@contextmanager
def scraped(brokers: list[Broker]) -> Iterator[None]:
    """Ours has somebody who reads its metrics."""
    is_over = Event()
    (port,) = [broker.metrics_port for broker in brokers if isinstance(broker, PenstockBroker)]

    def scrape() -> None:
        while not is_over.wait(SCRAPED_S):
            with urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=SCRAPED_S) as answer:
                answer.read()

    thread = Thread(target=scrape, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.guarded", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round of short runs: a hint")
    parser.add_argument("--only", action="append", help="this load; repeatable")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else FULL
    if os.getloadavg()[0] > 0.5:
        say("a rough run: the machine has other work")
    stores, rounds = Stores(), dict[str, Rounds]()
    chosen = [each for each in scenarios(stores.way_in) if each.name in (arguments.only or each.name)]
    kafka, ours = GuardedKafka(stores), GuardedPenstock(stores)
    with running(kafka, ours) as brokers:
        for broker in (kafka, ours):
            prepare(broker)
            say(f"warming up {broker.name}")
            warm_up(broker, scale)
        with scraped(brokers):
            for scenario in chosen:
                rounds[scenario.name] = take_turns(scenario, scale, brokers)
    lines = [line for scenario in chosen for line in lines_of(scenario, rounds[scenario.name])]
    print_table(lines)
    if not arguments.quick:
        keep(lines, rounds, "guarded")
    return 1 if any(line.verdict == "MISS" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
