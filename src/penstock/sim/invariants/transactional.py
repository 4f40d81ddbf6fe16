"""What is promised of transactions, where there are any."""

from __future__ import annotations

from typing import Final

from penstock.sim.invariants.aborted_is_never_seen import AbortedIsNeverSeen
from penstock.sim.invariants.base import Invariant
from penstock.sim.invariants.every_transaction_ends import EveryTransactionEnds
from penstock.sim.invariants.inputs_count_once import InputsCountOnce
from penstock.sim.invariants.last_stable_waits import LastStableWaits
from penstock.sim.invariants.transactions_are_atomic import TransactionsAreAtomic

TRANSACTIONAL: Final[tuple[type[Invariant], ...]] = (
    AbortedIsNeverSeen,
    EveryTransactionEnds,
    InputsCountOnce,
    LastStableWaits,
    TransactionsAreAtomic,
)
