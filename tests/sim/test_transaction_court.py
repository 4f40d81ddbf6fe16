"""The invariants of transactions object to the story they are made for, and not to the same story told right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from penstock.sim.cluster_court import CLUSTER, ClusterCourt
from penstock.sim.events import ClockSet, Event, Partition, Rotted
from penstock.sim.invariants import Violation
from penstock.sim.invariants.transactional import TRANSACTIONAL
from penstock.sim.scheduler import SECOND, Scheduler
from penstock.sim.trace import Trace
from penstock.sim.transactions.events import (
    Brought,
    ChainRead,
    Ended,
    Ending,
    Hanging,
    Introduced,
    Introducing,
    Opened,
    Seen,
    SeenDamaged,
    StableAsked,
    StableEnd,
    StableTold,
    Taken,
)

P, Q = Partition("chain-1", 0), Partition("chain-1", 1)
INPUT = Partition("chain-0", 0)
OPENED = Opened("one.1", "one", timeout_ms=5_000, is_shared=False)
VALUE, OTHER = b"root@one.1:", b"other@one.1:"
WRITTEN = (OPENED, Taken("one.1", P, (VALUE,), 4), Taken("one.1", Q, (OTHER,), 7))
BROUGHT = Brought("one.1", "g", INPUT, 0, 3)
COMMITTING, COMMITTED = Ending("one.1", True), Ended("one.1", True)
ABORTING, ABORTED = Ending("one.1", False), Ended("one.1", False)
SHOWN = Seen("reader", P, 4, 6, ((4, VALUE),), (), 6)
SHOWN_TOO = Seen("reader", Q, 7, 9, ((7, OTHER),), (), 9)
HIDDEN = replace(SHOWN_TOO, visible=(), hidden=((7, OTHER),))
ASKED = StableAsked("two", "g", INPUT)
TOLD = StableTold("two", "g", INPUT, 3, "one.1")
NOTHING_TOLD = StableTold("two", "g", INPUT, -1, "")

RIGHT: dict[str, Sequence[Event]] = {
    "a batch that a rotten disk has damaged": (Rotted(2, "/data/chain-1-0/0.log"), SeenDamaged("reader", P, 2)),
    "a commit that is seen everywhere": (*WRITTEN, BROUGHT, COMMITTING, COMMITTED, SHOWN, SHOWN_TOO, ASKED, TOLD),
    "a commit that is seen before it is heard of": (*WRITTEN, COMMITTING, SHOWN, COMMITTED, SHOWN_TOO),
    "an abort that is passed over": (*WRITTEN, BROUGHT, ABORTING, ABORTED, HIDDEN, ASKED, NOTHING_TOLD),
    "a commit that nobody heard of, and that was none": (*WRITTEN, COMMITTING, HIDDEN),
    "a question that is older than the commit": (*WRITTEN, BROUGHT, COMMITTING, ASKED, COMMITTED, NOTHING_TOLD),
    "an end that waits": (*WRITTEN, StableEnd(P, 1, 4), COMMITTING, StableEnd(P, 1, 6)),
    "another program that ends it": (*WRITTEN, Introducing("one"), StableEnd(P, 1, 6)),
    "a question of the program itself that comes late": (Introducing("one"), *WRITTEN, StableEnd(P, 1, 6)),
    "a coordinator whose clock is wrong": (ClockSet(100_000), *WRITTEN, StableEnd(P, 1, 6)),
    "as much as came in": (ChainRead("chain-1", "g", ("a", "b"), ("b", "a")),),
    "the same place twice": (*WRITTEN, COMMITTING, SHOWN, replace(SHOWN, reader="another")),
}
WRONG: dict[str, Sequence[Event]] = {
    "TransactionsAreAtomic: one.1 was committed, .* chain-1-1": (*WRITTEN, COMMITTING, SHOWN, HIDDEN),
    "TransactionsAreAtomic: one.1 was aborted, .* chain-1-0": (*WRITTEN, COMMITTING, HIDDEN, SHOWN),
    "TransactionsAreAtomic: one.1 was aborted, .* its program": (*WRITTEN, COMMITTING, HIDDEN, COMMITTED),
    "TransactionsAreAtomic: one.1 was aborted, .* g has read": (*WRITTEN, BROUGHT, COMMITTING, HIDDEN, ASKED, TOLD),
    "TransactionsAreAtomic: g has read .* up to -1": (*WRITTEN, BROUGHT, COMMITTING, SHOWN, ASKED, NOTHING_TOLD),
    "TransactionsAreAtomic: reader was not given": (*WRITTEN, COMMITTING, replace(SHOWN, visible=())),
    "TransactionsAreAtomic: one.1 did not say": (*WRITTEN, BROUGHT, COMMITTING, ASKED, replace(TOLD, offset=2)),
    "TransactionsAreAtomic: nobody has begun": (replace(SHOWN, visible=(), hidden=((4, b"root@two.1:"),)),),
    "AbortedIsNeverSeen: .* reader saw": (*WRITTEN, ABORTING, SHOWN),
    "AbortedIsNeverSeen: .* g has read": (*WRITTEN, BROUGHT, ABORTING, ASKED, TOLD),
    "InputsCountOnce: reader saw root": (*WRITTEN, COMMITTING, SHOWN, replace(SHOWN_TOO, visible=((7, VALUE),))),
    "InputsCountOnce: g has lost": (ChainRead("chain-1", "g", ("a", "b"), ("a",)),),
    "InputsCountOnce: g has made": (ChainRead("chain-1", "g", ("a",), ("a", "a")),),
    "LastStableWaits: machine 1": (*WRITTEN, StableEnd(P, 1, 5)),
    "LastStableWaits: reader was told": (*WRITTEN, replace(SHOWN, visible=(), next_offset=4)),
    "LastStableWaits: reader was given": (OPENED, replace(SHOWN, visible=(), hidden=((4, VALUE),))),
    "LastStableWaits: machine 2": (Introducing("one"), Introduced("one"), *WRITTEN, StableEnd(P, 2, 5)),
    "EveryTransactionEnds": (Hanging(P, 4, 6),),
    "FetchedIsProduced: chain-1-0 gave a batch": (Rotted(2, "/data/chain-1-0/0.log"), SeenDamaged("reader", P, 1)),
}


def tell(story: Sequence[Event], delay_us: int = 0) -> None:
    scheduler = Scheduler()
    court = ClusterCourt(scheduler, Trace(), {}, invariants=(*CLUSTER, *TRANSACTIONAL))
    for number, event in enumerate(story):
        if number == len(story) - 1:
            scheduler.run_until(delay_us)
        court.see(event)


@pytest.mark.parametrize("name", RIGHT)
def test_nobody_objects_to(name: str) -> None:
    tell(RIGHT[name])


@pytest.mark.parametrize("complaint", WRONG)
def test_objects(complaint: str) -> None:
    tell(WRONG[complaint][:-1])
    with pytest.raises(Violation, match=complaint):
        tell(WRONG[complaint])


def test_when_its_time_is_over_it_may_have_ended() -> None:
    story = (*WRITTEN, StableEnd(P, 1, 6))
    with pytest.raises(Violation, match="LastStableWaits"):
        tell(story, delay_us=4 * SECOND)
    tell(story, delay_us=5 * SECOND)
