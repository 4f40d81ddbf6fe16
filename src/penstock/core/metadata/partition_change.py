"""One partition's way to another state: who is in sync, who could lead, who leads (Kafka's rules, with KIP-966).

A change names what it wants, `record` works out what follows from that: a move that is now complete, eligible leaders
when too few replicas are in sync, an election, and whether the leader's epoch begins anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from penstock.core.metadata.brokers import NO_BROKER
from penstock.core.metadata.image import (
    LEADER_UNCHANGED,
    NO_LEADER,
    RECOVERING,
    RECOVERY_UNCHANGED,
    PartitionImage,
    ReplicaSet,
)
from penstock.core.metadata.reassignment import Move, completed
from penstock.core.metadata.rules import TopicRules
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord


class Election(Enum):
    """What an election may do to find a leader."""

    PREFERRED = "the first replica, if it is in sync and not reluctant to lead; else as ONLINE"
    ONLINE = "keep the leader, or take one that is in sync or eligible; a reluctant one if there is no other"
    UNCLEAN = "as ONLINE; if there is none, any replica that is alive"


class Elected(NamedTuple):
    leader: int
    unclean: bool = False


class PartitionChange:
    """A partition's wanted state; begins as the state it has."""

    __slots__ = (
        "_rules",
        "adding",
        "before",
        "distrusted",
        "election",
        "elr",
        "isr",
        "recovery",
        "removing",
        "replicas",
    )

    def __init__(self, rules: TopicRules, before: PartitionImage, election: Election | None = None) -> None:
        self._rules = rules
        self.before = before
        self.replicas = before.replicas
        self.isr = before.isr
        self.adding = before.standing.adding
        self.removing = before.standing.removing
        self.elr = before.standing.elr
        self.recovery = before.standing.recovery
        self.election = election or (Election.UNCLEAN if rules.unclean else Election.ONLINE)
        self.distrusted = NO_BROKER
        """A replica that may have lost what it had: never an eligible leader."""

    def drop(self, broker: int, *, distrust: bool) -> None:
        """Take a broker out of the in-sync set; out of the eligible leaders too, if its log is not what it was."""
        self.isr = _without(self.isr, broker)
        if distrust:
            self.distrusted = broker

    def record(self, topic_id: bytes, index: int) -> PartitionChangeRecord | None:
        """What must be written, if anything."""
        self._complete_move()
        self._find_eligible()
        record = PartitionChangeRecord(topic_id=topic_id, partition_id=index)
        self._elect_into(record)
        self._set_eligible(record)
        if record.isr is None and (self.isr or self._rules.eligible_leaders) and self.isr != self.before.isr:
            record.isr = list(self.isr)
        self._set_last_known(record)
        self._set_replicas(record)
        if self.recovery != self.before.standing.recovery:
            record.leader_recovery_state = self.recovery
        return None if _says_nothing(record) else record

    def _complete_move(self) -> None:
        done = completed(Move(self.replicas, self.adding, self.removing), self.isr, self._rules.min_insync)
        if done is not None:
            self.replicas, self.isr = done
            self.adding = self.removing = ()

    def _find_eligible(self) -> None:
        """Below `min.insync.replicas` nothing is acknowledged any more: whoever was in sync until then has it all."""
        if not self._rules.eligible_leaders:
            return
        if len(self.isr) >= self._rules.min_insync:
            self.elr = ()
            return
        had_all = {*self.elr, *self.before.isr} - {*self.isr, self.distrusted}
        self.elr = tuple(sorted(had_all & set(self.replicas)))

    def _elect_into(self, record: PartitionChangeRecord) -> None:
        before = self.before
        elected = self.elect()
        if elected.leader != before.leader or elected.leader in self.elr:
            record.leader = elected.leader
            if elected.leader in self.elr:
                self.isr = (elected.leader,)
                # With a minimum of one it acknowledges alone from here on, and what the others have is no longer all.
                self.elr = _without(self.elr, elected.leader) if self._rules.min_insync > 1 else ()
            if elected.unclean:
                # What only others have is lost from here on, so nobody else is in sync.
                record.isr = [elected.leader]
                if before.standing.recovery != RECOVERING:
                    record.leader_recovery_state = RECOVERING
        elif not set(before.replicas) <= set(self.replicas):
            # Replicas that go must not be taken for replicas: a new epoch makes their fetches fail.
            record.leader = before.leader

    def elect(self) -> Elected:
        """Choose a leader, or NO_LEADER."""
        reluctant = NO_LEADER
        for replica in self._in_order():
            if self._is_valid(replica):
                if self._rules.should_lead(replica):
                    return Elected(replica)
                reluctant = replica if reluctant == NO_LEADER else reluctant
        if reluctant != NO_LEADER:
            return Elected(reluctant)
        if self._may_return_to_last_known():
            return Elected(self.before.standing.last_known_elr[0], unclean=True)
        if self.election is Election.UNCLEAN:
            for replica in self.replicas:
                if self._may_lead(replica):
                    return Elected(replica, unclean=True)
        return Elected(NO_LEADER)

    def _in_order(self) -> Iterator[int]:
        """Whom to ask first."""
        if self.election is Election.PREFERRED:
            yield self.replicas[0]
        yield self.before.leader
        yield from self.replicas

    def _is_valid(self, replica: int) -> bool:
        candidates = self.isr or self.elr
        return replica in candidates and self._may_lead(replica)

    def _may_lead(self, replica: int) -> bool:
        before = self.before
        known = replica in before.replicas
        return self._rules.may_lead(before, replica) if known else self._rules.image.is_active(replica)

    def _may_return_to_last_known(self) -> bool:
        """If nobody is sure to have everything, the one who led last has most of it, and may come back."""
        last_known = self.before.standing.last_known_elr
        if not self._rules.eligible_leaders or self.isr or self.elr or len(last_known) != 1:
            return False
        return last_known[0] in self.replicas and self._may_lead(last_known[0])

    def _set_eligible(self, record: PartitionChangeRecord) -> None:
        was_clean = record.isr is None
        elr = self.elr if was_clean and self._rules.eligible_leaders else ()
        if elr != self.before.standing.elr:
            record.eligible_leader_replicas = list(elr)

    def _set_last_known(self, record: PartitionChangeRecord) -> None:
        """Who led when the partition lost its leader; forgotten when it has one again."""
        if not self._rules.eligible_leaders:
            return
        last_known = self.before.standing.last_known_elr
        if record.leader == NO_LEADER and not last_known:
            record.last_known_elr = [self.before.leader]
        elif record.leader >= 0 and last_known:
            record.last_known_elr = []

    def _set_replicas(self, record: PartitionChangeRecord) -> None:
        before = self.before
        directories = tuple(self._directory(replica) for replica in self.replicas)
        if directories != before.directories:
            record.directories = list(directories)
        if self.replicas != before.replicas:
            record.replicas = list(self.replicas)
        if self.removing != before.standing.removing:
            record.removing_replicas = list(self.removing)
        if self.adding != before.standing.adding:
            record.adding_replicas = list(self.adding)

    def _directory(self, replica: int) -> bytes:
        if replica in self.before.replicas:
            return self.before.directory(replica)
        return self._rules.image.default_directory(replica)


def _without(replicas: ReplicaSet, broker: int) -> ReplicaSet:
    return tuple(replica for replica in replicas if replica != broker)


def _says_nothing(record: PartitionChangeRecord) -> bool:
    return (
        record.leader == LEADER_UNCHANGED
        and record.leader_recovery_state == RECOVERY_UNCHANGED
        and record.isr is None
        and record.eligible_leader_replicas is None
        and record.last_known_elr is None
        and record.replicas is None
        and record.removing_replicas is None
        and record.adding_replicas is None
        and record.directories is None
    )
