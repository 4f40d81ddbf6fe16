"""The invariants of a cluster object to the story they are made for, and not to the same story told right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from penstock.sim.cluster_court import ClusterCourt
from penstock.sim.events import (
    Acknowledged,
    Attempted,
    Batch,
    BlamedDisk,
    CommitAcknowledged,
    CommitRead,
    CommitSent,
    Decided,
    Down,
    EndSeen,
    Event,
    FetchAnswered,
    FetchAsked,
    FetchPart,
    Found,
    Granted,
    GroupSaw,
    Held,
    InSync,
    Leads,
    Lingers,
    LogState,
    Noted,
    Overburdened,
    Partition,
    Published,
    Read,
    Repositioned,
    Rotted,
    Sent,
    Stalled,
    TakenOffline,
    Trusts,
    Up,
    Waited,
    Wanted,
    Watermark,
)
from penstock.sim.invariants import Violation
from penstock.sim.scheduler import Scheduler
from penstock.sim.trace import Trace

P = Partition("kept", 0)
LEADER = Leads(P, epoch=3, machine=1, life=1)
BATCH = Batch(P, "one", 0, (b"a", b"b"), idempotent=True)
WRITTEN = (Sent(BATCH), Acknowledged(BATCH, 0))
COMMITTED = (CommitSent("g", P, 5), CommitAcknowledged("g", P, 5))
ASKED = FetchAsked("reader", 1, {P: 3}, machine=1)
SILENCE = FetchAnswered("reader", 1, ())
GIVEN = FetchAnswered("reader", 1, (FetchPart(P, 0, 2, ((0, b"a"), (1, b"b")), next_offset=2),))
DAMAGED = FetchAnswered("reader", 1, (FetchPart(P, 0, 5, (), damaged=True),))
READ = (Watermark(LEADER, 2), replace(ASKED, positions={P: 0}), GIVEN)
NEWS = FetchAnswered("reader", 1, (FetchPart(P, 0, 5, (), next_offset=5),))

RIGHT: dict[str, Sequence[Event]] = {
    "one leader after the other": (LEADER, replace(LEADER, machine=2, epoch=4)),
    "the same leader in its next life": (LEADER, replace(LEADER, life=2)),
    "a leader in each partition": (LEADER, replace(LEADER, machine=2, partition=Partition("kept", 1))),
    "a watermark that rises": (Watermark(LEADER, 3), Watermark(LEADER, 5)),
    "a new leader that knows less": (Watermark(LEADER, 5), Watermark(replace(LEADER, epoch=4, machine=2), 3)),
    "equal replicas": (Held(P, {1: b"abc", 2: b"abc", 3: b"abc"}),),
    "a replica in which a bit has flipped": (
        Rotted(2, "/data/kept-0/0.log"),
        Held(P, {1: b"abc", 2: b"abd", 3: b"abc"}),
    ),
    "what was acknowledged is read": (*WRITTEN, Down(True, {}, machine=2), Read(P, 0, 2, ((0, b"a"), (1, b"b")))),
    "a machine that comes back with nothing": (*WRITTEN, Down(True, {}, machine=2), Up({}, 2)),
    "an end for each client": (EndSeen("a", P, 5), EndSeen("b", P, 3), EndSeen("a", P, 5)),
    "a fetch that is told news": (Watermark(LEADER, 5), ASKED, NEWS),
    "a leader that has nothing but damage to tell": (
        Rotted(1, "/data/kept-0/0.log"),
        Watermark(LEADER, 5),
        ASKED,
        DAMAGED,
    ),
    "nothing to tell": (Watermark(LEADER, 3), ASKED, Watermark(LEADER, 5), SILENCE),
    "a new leader that knows nothing yet": (
        Watermark(LEADER, 5),
        ASKED,
        Watermark(replace(LEADER, epoch=4), 2),
        SILENCE,
    ),
    "another one's news": (Watermark(replace(LEADER, machine=2), 5), ASKED, SILENCE),
    "equal metadata": (Published(1, 1, 7, "a"), Published(2, 1, 7, "a"), Published(1, 1, 8, "b")),
    "a new life that begins again": (Published(1, 1, 7, "a"), Published(1, 2, 3, "c")),
    "who is in sync has it": (InSync(P, 5, {1: 7, 2: 5}),),
    "what was decided, or asked for since": (
        Wanted("x", "1"),
        Decided("x", "1"),
        Wanted("x", "2"),
        Found("x", "1"),
        Found("x", "2"),
    ),
    "what was tried in vain": (
        Wanted("x", "1"),
        Lingers("x", "1"),
        Decided("x", "1"),
        Wanted("x", "2"),
        Decided("x", "2"),
        Found("x", "1"),
    ),
    "a group that goes over something twice": (GroupSaw("g", P, 0, 5), GroupSaw("g", P, 3, 8), GroupSaw("g", P, 8, 9)),
    "a commit, and a later one": (*COMMITTED, CommitSent("g", P, 9), CommitRead("g", P, 9, 0)),
    "a follower that knows less than its leader": (
        Watermark(LEADER, 5),
        replace(ASKED, machine=2, near=True),
        SILENCE,
    ),
    "a leader that names somebody nearer": (
        Watermark(LEADER, 5),
        ASKED,
        FetchAnswered("reader", 1, (FetchPart(P, 0, 5, (), read_from=2),)),
    ),
    "a cut that is named": (
        InSync(P, 5, {1: 7}),
        Down(False, {P: LogState(0, 5, 7)}),
        Noted(1, "warning", "kept-0 was cut, in a file"),
        Up({P: LogState(0, 4, 4)}),
    ),
    "a cut of what was not safe": (
        InSync(P, 3, {1: 7}),
        Down(False, {P: LogState(0, 5, 7)}),
        Up({P: LogState(0, 3, 3)}),
    ),
    "a batch that a rotten disk has damaged": (
        Rotted(1, "/data/kept-0/0.log"),
        replace(ASKED, positions={P: 0}),
        DAMAGED,
    ),
    "a reader whom retention sent on": (Repositioned("reader", P, 3, 7),),
    "a long wait": (Waited("a", 20_000, excused=False),),
}
WRONG: dict[str, Sequence[Event]] = {
    "OneLeader": (LEADER, replace(LEADER, machine=2)),
    "WatermarkRisesInEpoch": (Watermark(LEADER, 5), Watermark(LEADER, 3)),
    "ReplicasAgree": (Held(P, {1: b"abc", 2: b"abc", 3: b"abd"}),),
    "ReplicasAgree: the replicas differ:": (
        Rotted(2, "/data/kept-0/0.log"),
        Held(P, {1: b"abc", 2: b"abd", 3: b"abd"}),
    ),
    "ReplicasAgree: the replicas differ in length": (
        Rotted(2, "/data/kept-0/0.log"),
        Held(P, {1: b"abc", 2: b"ab", 3: b"abc"}),
    ),
    # The power loss of one machine is no excuse.
    "AcknowledgedIsReadable": (*WRITTEN, Down(True, {}, machine=2), Read(P, 0, 1, ((0, b"a"),))),
    "EndsRise": (EndSeen("a", P, 5), EndSeen("a", P, 3)),
    "FetchedIsCommitted": (*WRITTEN, Watermark(LEADER, 1), replace(ASKED, positions={P: 0}), GIVEN),
    "FetchedStays: .* has b'b' at 0": (*WRITTEN[:1], *READ, Read(P, 0, 1, ((0, b"b"),))),
    "FetchedStays: .* has it no more": (*WRITTEN[:1], *READ, Read(P, 0, 1, ((0, b"a"),))),
    "CutsAreNamed": (InSync(P, 5, {1: 7}), Down(False, {P: LogState(0, 5, 7)}), Up({P: LogState(0, 4, 4)})),
    "FetchedIsProduced: .* checksum": (Rotted(2, "/data/kept-0/0.log"), replace(ASKED, positions={P: 0}), DAMAGED),
    "NobodyIsHurt: .* was granted": (Attempted("hostile", "lies"), Granted("hostile", "a batch")),
    "NobodyIsHurt: machine 2 holds 5": (Overburdened(2, "things", 5, 4),),
    "PositionsRise": (Repositioned("reader", P, 7, 3),),
    "LeadersTellNews": (Watermark(LEADER, 5), ASKED, SILENCE),
    "MetadataAgrees: machine 2 has other": (Published(1, 1, 7, "a"), Published(2, 1, 7, "b")),
    "MetadataAgrees: machine 1 went back": (Published(1, 1, 7, "a"), Published(1, 1, 6, "b")),
    "DisksFailFirst": (TakenOffline(P, 1, "no such file"),),
    "DisksFailFirst: the node of machine 2": (BlamedDisk(2, "too many open files"),),
    "InSyncGoOn": (Stalled(P, 1, (1, 2), 4.2),),
    "InSyncHaveIt": (InSync(P, 5, {1: 7, 2: 4}),),
    "LeaseEndsFirst": (Trusts(1, 1),),
    "DecisionsSurvive": (Wanted("x", "1"), Decided("x", "1"), Wanted("x", "2"), Decided("x", "2"), Found("x", "1")),
    "GroupsSeeEverything": (GroupSaw("g", P, 0, 5), GroupSaw("g", P, 6, 8)),
    "CommitsSurvive": (*COMMITTED, Down(True, {}, machine=2), CommitRead("g", P, 7, 0)),
    # A member of an old generation was heard.
    "CommitsRise": (*COMMITTED, CommitSent("g", P, 3), CommitRead("g", P, 3, 0)),
    "FetchesEndInTime": (Waited("a", 40_000, excused=False),),
    "NoDuplicate": (*WRITTEN, Read(P, 0, 3, ((0, b"a"), (1, b"b"), (2, b"b")))),
}


def tell(story: Sequence[Event]) -> Trace:
    trace = Trace()
    court = ClusterCourt(Scheduler(), trace, {})
    for event in story:
        court.see(event)
    return trace


@pytest.mark.parametrize("name", RIGHT)
def test_nobody_objects_to(name: str) -> None:
    tell(RIGHT[name])


@pytest.mark.parametrize("name", WRONG)
def test_objects(name: str) -> None:
    with pytest.raises(Violation, match=name):
        tell(WRONG[name])


def test_who_asked_only_one_machine_was_promised_nothing() -> None:
    court = ClusterCourt(Scheduler(), Trace(), {}, frozenset({"one"}))
    for event in (*WRITTEN, Read(P, 0, 1, ((0, b"a"),))):
        court.see(event)


def test_what_is_counted_and_what_is_written_down() -> None:
    trace = tell([LEADER, Watermark(LEADER, 1), Down(False, {}, clean=True), Down(False, {}), Down(True, {})])
    assert trace.counts["unclean-stops"] == 2
    assert trace.counts["Leads"] == 1
    assert trace.counts["Watermark"] == 0
