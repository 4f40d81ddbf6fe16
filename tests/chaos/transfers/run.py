"""One run: tellers at work, nodes that die, and the audit."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from contextlib import ExitStack

from tests.chaos.checker import complaints_about_replicas
from tests.chaos.cluster import REPLICAS, ChaosCluster
from tests.chaos.faults import Fault, happening, hold
from tests.chaos.transfers.bank import GROUP, LEDGER, LEDGER_PARTITIONS, ORDERS, Audit, Orders
from tests.chaos.transfers.teller import Teller
from tests.conformance.transactions.client import Library
from tests.waiting import wait_until

TRANSACTIONS, OFFSETS = "__transaction_state", "__consumer_offsets"
SETTINGS = {
    "transaction.state.log.replication.factor": str(REPLICAS),
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
RECOVERY_SECONDS_MAX = 60.0


class Bank:
    """Tellers by name, each with a library of its own choice, over a cluster."""

    def __init__(
        self, cluster: ChaosCluster, libraries: Mapping[str, Library], seed: int, are_slow: bool = False
    ) -> None:
        self._cluster = cluster
        chance = random.Random(seed)
        cluster.create_topic(ORDERS, len(libraries))
        cluster.create_topic(LEDGER, LEDGER_PARTITIONS)
        self.tellers = [
            Teller(name, library, cluster.bootstrap, number, random.Random(chance.random()), are_slow)
            for number, (name, library) in enumerate(libraries.items())
        ]
        self.orders = Orders(cluster.bootstrap, len(libraries), chance)
        self.audit = Audit(cluster.bootstrap)

    def coordinator(self, teller: int = 0) -> int:
        """The node that is in charge of a teller's transactions."""
        return self._cluster.leader_of(TRANSACTIONS, partition_of(self.tellers[teller].name))

    def leaders(self) -> list[int]:
        """Who leads the ledger, and who is in charge of transactions and of the tellers' group."""
        return [
            *(self._cluster.leader_of(LEDGER, each) for each in range(LEDGER_PARTITIONS)),
            *(self.coordinator(each) for each in range(len(self.tellers))),
            self._cluster.leader_of(OFFSETS, partition_of(GROUP)),
        ]

    def play(self, faults: Iterable[Fault]) -> list[str]:
        """Everything that is wrong afterwards."""
        with ExitStack() as until:
            for each in (self.audit, self.orders, *self.tellers):
                until.enter_context(each)
            self.wait_for_progress()
            for fault in faults:
                print(fault, flush=True)
                with happening(self._cluster, fault):
                    hold(fault.seconds)
                self._cluster.wait_healed(LEDGER)
                self.wait_for_progress()
            self.orders.finish()
            self.audit.wait_for(len(self.orders.placed))
        print(*self.tellers, sep="\n")
        complaints = [complaint for teller in self.tellers for complaint in teller.complaints]
        complaints += self.audit.verdict(self.orders.placed.values())
        return complaints + self._read_again() + self._look_at_replicas()

    def wait_for_progress(self) -> None:
        """Every teller commits again."""
        before = [teller.commits for teller in self.tellers]

        def all_have_committed() -> bool:
            return all(teller.commits > count for teller, count in zip(self.tellers, before, strict=True))

        try:
            wait_until(all_have_committed, timeout_s=RECOVERY_SECONDS_MAX, what="every teller commits")
        except AssertionError as failure:
            for teller in self.tellers:
                failure.add_note(f"{teller}: {teller.refusals} {teller.complaints}")
            raise

    def _read_again(self) -> list[str]:
        """What somebody sees who comes when all is over."""
        with Audit(self._cluster.bootstrap) as again:
            again.wait_for(len(self.orders.placed))
        return again.verdict(self.orders.placed.values())

    def _look_at_replicas(self) -> list[str]:
        cluster = self._cluster
        cluster.wait_healed(LEDGER)
        cluster.stop(cluster.nodes)
        folders = [cluster.partition_folders(LEDGER, each) for each in range(LEDGER_PARTITIONS)]
        return [complaint for each in folders for complaint in complaints_about_replicas(each, REPLICAS)]


def partition_of(name: str, count: int = 3) -> int:
    """Java's hash of a string, by which coordinators are found."""
    value = 0
    for letter in name:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % count
