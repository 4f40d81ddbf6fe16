"""Planted bugs in transactions: mistakes of coordinators, of those who vouch for them, and of what remembers aborts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Steps
from penstock.core.groups.offsets.part import OffsetsPart
from penstock.core.groups.turn import Turn as GroupTurn
from penstock.core.log.producers import Producers
from penstock.core.log.txn_index import TransactionIndex
from penstock.core.node.coordination import marker_sender
from penstock.core.partition.leader import Leader
from penstock.core.partition.verification import UNCHECKED, Begins, Verification
from penstock.core.records.control import EndTransaction
from penstock.core.transactions import initializing
from penstock.core.transactions.context import Turn
from penstock.core.transactions.metadata import NO_EPOCH, NO_ID, Producer, TransactionMetadata
from penstock.core.transactions.shard import TransactionShard
from penstock.core.transactions.transitions import prepared
from penstock.sim.planted import Patch

COORDINATOR_EPOCH_MAX: Final = 2**31 - 1


def _marker_lost() -> list[Patch]:
    """A partition that has not answered counts as told."""
    return [(marker_sender, "WRITTEN", frozenset(ErrorCode))]


def _epoch_not_bumped() -> list[Patch]:
    """Whoever comes next under a transactional id goes on in the epoch of the one before."""

    def next_(turn: Turn, name: str, current: Producer, expected: Producer | None) -> Producer:
        return current if current.epoch != NO_EPOCH else Producer(current.id, 0)

    def fence(self: Turn, before: TransactionMetadata) -> None:
        self.write(prepared(before, False, 0, 0, NO_ID, self.now_ms))

    return [(initializing, "_next", next_), (Turn, "fence", fence)]


def _offsets_committed_outside() -> list[Patch]:
    """How far a group has read counts at once, whatever becomes of the transaction."""
    honest = OffsetsPart._commit_in_transaction

    def commit_in_transaction(self: OffsetsPart, turn: GroupTurn, asked: Any) -> None:
        honest(self, turn, asked)
        turn.result.transaction = None

    return [(OffsetsPart, "_commit_in_transaction", commit_in_transaction)]


def _two_coordinators_write() -> list[Patch]:
    """A coordinator whose transactions others have taken over goes on telling how they ended, and partitions take its
    word: it may be about the transaction before."""
    honest = Producers.check_end

    def check_end(self: Producers, producer_id: int, epoch: int, end: EndTransaction, transaction_version: int) -> None:
        honest(self, producer_id, epoch, EndTransaction(end.committed, COORDINATOR_EPOCH_MAX), transaction_version)

    return [(Producers, "check_end", check_end), (marker_sender.MarkerSender, "_is_ours", lambda self, ending: True)]


def _verification_skipped() -> list[Patch]:
    """Any batch may begin a transaction, though no coordinator knows of it."""

    def verification(self: Leader, header: Begins, bumps_epoch: bool, now_ms: int) -> Verification:
        return UNCHECKED

    return [(Leader, "verification", verification)]


def _timeout_forgotten() -> list[Patch]:
    """Nobody ends what a program that is gone has begun."""

    def abort_overdue(self: TransactionShard, turn: Turn) -> None:
        return None

    return [(TransactionShard, "_abort_overdue", abort_overdue)]


def _aborted_index_not_truncated() -> list[Patch]:
    """A log that was cut goes on naming what was aborted in the part that it has no more."""

    def truncate(self: TransactionIndex, offset: int) -> Steps[None]:
        yield from ()

    return [(TransactionIndex, "truncate", truncate)]


TRANSACTION_BUGS: dict[str, Callable[[], list[Patch]]] = {
    "marker lost": _marker_lost,
    "epoch not bumped": _epoch_not_bumped,
    "offsets committed outside": _offsets_committed_outside,
    "two coordinators write": _two_coordinators_write,
    "verification skipped": _verification_skipped,
    "timeout forgotten": _timeout_forgotten,
    "aborted index not truncated": _aborted_index_not_truncated,
}
"""Every bug by its name."""
