"""Every invariant objects to the story it is made for, and not to the same story told right."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.sim.court import Court
from penstock.sim.events import (
    Acknowledged,
    Assigned,
    Batch,
    ClockSet,
    CommitAcknowledged,
    CommitRead,
    CommitSent,
    DeleteAnswered,
    DeleteAsked,
    Down,
    Event,
    FetchAnswered,
    FetchAsked,
    FetchPart,
    GhostAnswered,
    LogState,
    OutOfSequence,
    Partition,
    Read,
    Sent,
    Stuck,
    TopicDecided,
    TopicsRead,
    TopicWanted,
    Unanswered,
    Up,
    Waited,
)
from penstock.sim.invariants import Violation
from penstock.sim.rules import TopicRules
from penstock.sim.scheduler import EPOCH_MS, Scheduler
from penstock.sim.trace import Trace

P = Partition("plain", 0)
SHARD = Partition("__consumer_offsets", 0)
BRIEF = Partition("brief", 0)
SMALL = Partition("small", 0)
KEYED = Partition("keyed", 0)
LIFE = Partition("reborn", 0, "one")
SYNCED = Partition("flushed", 0)
AGED = Batch(BRIEF, "one", 0, (b"a", b"b"), idempotent=True)
LITTLE = Batch(SMALL, "one", 0, (b"a", b"b"), idempotent=True)
TABLE = Batch(KEYED, "one", 0, (b"k|1", b"k|2", b"l|3", b"l|~"), idempotent=True)
LIVING = Batch(LIFE, "one", 0, (b"a",), idempotent=False)
LATE = Batch(LIFE, "one", 1, (b"b",), idempotent=False)
FIRST = Batch(P, "one", 0, (b"a", b"b"), idempotent=True)
SECOND = Batch(P, "one", 2, (b"c",), idempotent=True)
THIRD = Batch(P, "one", 3, (b"d",), idempotent=True)
PLAIN = Batch(P, "two", 0, (b"x",), idempotent=False)
FLUSHED = Batch(SYNCED, "one", 0, (b"f",), idempotent=True)
GOOD = (Sent(FIRST), Acknowledged(FIRST, 0), Sent(SECOND), Acknowledged(SECOND, 2))
COMMITTED = (CommitSent("group", P, 5), CommitAcknowledged("group", P, 5))
RECORDS = ((0, b"a"), (1, b"b"), (2, b"c"))


RULES = {
    "flushed": TopicRules(synced=True),
    "brief": TopicRules(retention_ms=1_000),
    "small": TopicRules(retention_bytes=100_000),
    "keyed": TopicRules(compacted=True),
}


def judge(story: Sequence[Event]) -> None:
    court = Court(Scheduler(), Trace(), RULES)
    for event in story:
        court.see(event)


def fetch(position: int, *parts: FetchPart, number: int = 1) -> tuple[Event, ...]:
    return FetchAsked("reader", number, {P: position}), FetchAnswered("reader", number, parts)


def up(end: int, partition: Partition = P, synced: int = 0) -> Up:
    return Up({partition: LogState(0, synced, end)})


def down(lost_power: bool, synced: int = 0, partition: Partition = P) -> Down:
    return Down(lost_power, {partition: LogState(0, synced, 99)})


def commit(offset: int, shard_end: int) -> tuple[Event, ...]:
    return CommitSent("group", P, offset), CommitAcknowledged("group", P, offset, SHARD, shard_end)


def sent(batch: Batch, timestamp_ms: int = EPOCH_MS) -> tuple[Event, ...]:
    return Sent(batch, timestamp_ms=timestamp_ms), Acknowledged(batch, 0)


def assigned(member: str, *partitions: Partition, kept: tuple[Partition, ...] = (), is_static: bool = False) -> Event:
    return Assigned("group", 1, member, partitions, False, is_static, kept)


CALM: dict[str, Sequence[Event]] = {
    "all is read": (*GOOD, Read(P, 0, 3, RECORDS)),
    "all is fetched": (*GOOD, *fetch(0, FetchPart(P, 0, 3, RECORDS))),
    "a batch begins before the position": (*GOOD, *fetch(1, FetchPart(P, 0, 3, RECORDS))),
    "nothing is there to be told": (*GOOD, *fetch(3)),
    "a crash keeps what was written": (*GOOD, down(False), up(3), Read(P, 0, 3, RECORDS)),
    "power loss takes what was not synced": (*GOOD, down(True, synced=2), up(2), Read(P, 0, 2, RECORDS[:2])),
    "after a loss the end has gone back": (*GOOD, down(True), up(0), *fetch(0, FetchPart(P, 0, 0, ()))),
    "a refused position that a loss took": (
        *GOOD,
        down(True),
        up(0),
        *fetch(3, FetchPart(P, ErrorCode.OFFSET_OUT_OF_RANGE, -1, ())),
    ),
    "another value at an offset that was lost": (
        *GOOD,
        down(True),
        up(2),
        Sent(PLAIN),
        Acknowledged(PLAIN, 2),
        Read(P, 0, 3, (*RECORDS[:2], (2, b"x"))),
    ),
    "a repeated plain batch": (Sent(PLAIN), Sent(PLAIN), Read(P, 0, 2, ((0, b"x"), (1, b"x")))),
    "an idempotent batch under a second id": (
        Sent(FIRST, 1),
        Sent(FIRST, 2),
        Read(P, 0, 4, ((0, b"a"), (1, b"b"), (2, b"a"), (3, b"b"))),
    ),
    "an idempotent batch under a second id, and the first copy's beginning deleted": (
        *(Sent(FIRST, 1), Sent(SECOND, 1), Sent(FIRST, 2), Sent(SECOND, 2)),
        DeleteAsked(P, 1),
        DeleteAnswered(P, 1, 1),
        Read(P, 1, 6, (*RECORDS[1:], (3, b"a"), (4, b"b"), (5, b"c"))),
    ),
    "a refusal after a loss": (*GOOD[:3], down(True), up(0), OutOfSequence(SECOND, "refused")),
    "a newer commit": (*COMMITTED, CommitSent("group", P, 7), CommitRead("group", P, 7, 0)),
    "a commit that power loss took with its shard": (
        *commit(5, 1),
        *commit(7, 2),
        down(True, 1, SHARD),
        up(1, SHARD),
        CommitRead("group", P, 5, 0),
    ),
    "a commit of unknown fate": (*commit(5, 1), CommitSent("group", P, 7), CommitRead("group", P, 5, 0)),
    "deleted records are gone": (*GOOD, DeleteAsked(P, 2), DeleteAnswered(P, 2, 2), Read(P, 2, 3, RECORDS[2:])),
    "a crash brings deleted records back": (
        *GOOD,
        DeleteAsked(P, 2),
        DeleteAnswered(P, 2, 2),
        down(False),
        up(3),
        *fetch(0, FetchPart(P, 0, 3, RECORDS, start_offset=0)),
    ),
    "old records are gone": (*sent(AGED, EPOCH_MS - 2_000), Up({BRIEF: LogState(2, 2, 2)})),
    "records are old by a clock that is ahead": (*sent(AGED), ClockSet(2_000), Up({BRIEF: LogState(2, 2, 2)})),
    "the last of each key is there": (*sent(TABLE), Read(KEYED, 0, 4, ((1, b"k|2"), (3, b"l|~")))),
    "a tombstone is gone with what it deleted": (*sent(TABLE), Read(KEYED, 0, 4, ((1, b"k|2"),))),
    "a static member comes back": (
        assigned("a", P, is_static=True),
        assigned("a", P, is_static=True),
        GhostAnswered("group", "a", "FENCED_INSTANCE_ID"),
    ),
    "a partition is handed over to nobody yet": (assigned("a", kept=(P,)), assigned("b")),
    "a long wait on a broken connection": (Waited("client", 60_000, excused=True),),
    "a batch from before the snapshot with a later one behind it": (
        Sent(FIRST),
        Sent(SECOND),
        down(False),
        Up({P: LogState(0, 0, 3, snapshot_offset=3)}),
        OutOfSequence(FIRST, "refused"),
    ),
    "a refusal of what was forgotten earlier, and compacted since": (
        Sent(FIRST),
        Sent(SECOND),
        down(False),
        Up({P: LogState(0, 0, 3, snapshot_offset=3)}),
        down(False),
        up(3),
        OutOfSequence(FIRST, "refused"),
    ),
    "a deletion that was only heard of": (
        Sent(LIVING),
        TopicDecided("reborn", exists=False, is_heard=True),
        Sent(LATE),
        Acknowledged(LATE, 0),
    ),
    "an excused silence": (Unanswered("client", "Fetch", excused=True),),
    "a topic that nobody decided about": (TopicWanted("t", exists=True), TopicsRead(())),
    "the same owner in two generations": (
        Assigned("group", 1, "a", (P,), is_leader=True),
        Assigned("group", 2, "b", (P,), is_leader=True),
    ),
}

BROKEN: dict[str, tuple[str, Sequence[Event]]] = {
    "an acknowledged record is missing": ("AcknowledgedIsReadable", (*GOOD, Read(P, 0, 2, RECORDS[:2]))),
    "another value is at its offset": (
        "AcknowledgedIsReadable",
        (*GOOD, Sent(PLAIN), Read(P, 0, 3, (*RECORDS[:2], (2, b"x")))),
    ),
    "an offset is acknowledged twice": ("AcknowledgedIsReadable", (*GOOD, Sent(PLAIN), Acknowledged(PLAIN, 2))),
    "a crash takes what was written": ("AcknowledgedIsReadable", (*GOOD, down(False), up(2))),
    "power loss takes what was synced": ("AcknowledgedIsReadable", (*GOOD, down(True, synced=2), up(1))),
    "power loss takes what a flushed topic acknowledged": (
        "AcknowledgedIsReadable",
        (Sent(FLUSHED), Acknowledged(FLUSHED, 0), down(True, 0, SYNCED), up(0, SYNCED)),
    ),
    "power loss right after a crash still keeps what was synced": (
        "AcknowledgedIsReadable",
        (*GOOD, down(True, synced=3), Down(False, {}), up(2)),
    ),
    "a readable position is refused": (
        "AcknowledgedIsReadable",
        (*GOOD, *fetch(2, FetchPart(P, ErrorCode.OFFSET_OUT_OF_RANGE, -1, ()))),
    ),
    "an offset is left out": ("NoGap", (*GOOD, *fetch(0, FetchPart(P, 0, 3, (RECORDS[0], RECORDS[2]))))),
    "the answer begins after the position": ("NoGap", (*GOOD, *fetch(0, FetchPart(P, 0, 3, RECORDS[1:])))),
    "the end cannot be reached": ("NoGap", (Sent(PLAIN), Read(P, 0, 2, ((0, b"x"),)))),
    "records change places": (
        "Order",
        (Sent(FIRST), Sent(SECOND), Read(P, 0, 3, ((0, b"c"), (1, b"a"), (2, b"b")))),
    ),
    "records change places under a second id": (
        "Order",
        (Sent(FIRST, 1), Sent(SECOND, 1), Sent(FIRST, 2), Read(P, 0, 3, ((0, b"c"), (1, b"a"), (2, b"b")))),
    ),
    "records change places behind deleted ones": (
        "Order",
        (Sent(FIRST), Sent(SECOND), Read(P, 1, 4, ((1, b"c"), (2, b"a"), (3, b"b")))),
    ),
    "records change places under a second id behind deleted ones": (
        "Order",
        (
            *(Sent(FIRST, 1), Sent(SECOND, 1), Sent(THIRD, 1), Sent(SECOND, 2)),
            Read(P, 1, 4, ((1, b"b"), (2, b"d"), (3, b"c"))),
        ),
    ),
    "an idempotent batch is there twice": (
        "NoDuplicate",
        (Sent(SECOND), Sent(SECOND), Read(P, 0, 2, ((0, b"c"), (1, b"c")))),
    ),
    "a plain batch is there more often than it was sent": (
        "NoDuplicate",
        (Sent(PLAIN), Read(P, 0, 2, ((0, b"x"), (1, b"x")))),
    ),
    "a value that nobody sent": ("FetchedIsProduced", fetch(0, FetchPart(P, 0, 1, ((0, b"?"),)))),
    "a damaged batch": ("FetchedIsProduced", fetch(0, FetchPart(P, 0, 1, (), damaged=True))),
    "an end that goes back": (
        "WatermarkRises",
        (
            *fetch(0, FetchPart(P, 0, 9, ()), number=1),
            *fetch(0, FetchPart(P, 0, 8, ()), number=2),
        ),
    ),
    "an end below what was acknowledged": ("WatermarkRises", (*GOOD, *fetch(3, FetchPart(P, 0, 2, ())))),
    "news that a fetch does not hear": ("SessionsHearNews", (*GOOD, *fetch(0))),
    "a refusal for no reason": ("SequenceIsKept", (*GOOD[:3], OutOfSequence(SECOND, "refused"))),
    "a refusal of the newest batch after a restart": (
        "SequenceIsKept",
        (*GOOD[:3], down(False), up(3), OutOfSequence(SECOND, "refused")),
    ),
    "a lost commit": ("CommitsSurvive", (CommitSent("group", P, 4), *COMMITTED, CommitRead("group", P, 4, 1))),
    "a crash takes a commit": (
        "CommitsSurvive",
        (*commit(5, 1), *commit(7, 2), down(False, 0, SHARD), up(2, SHARD), CommitRead("group", P, 5, 1)),
    ),
    "power loss takes a commit that its shard still has": (
        "CommitsSurvive",
        (*commit(5, 1), *commit(7, 2), down(True, 2, SHARD), up(2, SHARD), CommitRead("group", P, 5, 1)),
    ),
    "a commit that nobody sent": ("CommitsSurvive", (*commit(5, 1), CommitRead("group", P, 6, 0))),
    "too much is deleted": (
        "RetentionKeepsEnough",
        (*GOOD, DeleteAsked(P, 1), DeleteAnswered(P, 1, 2)),
    ),
    "too little is deleted": ("StartStays", (*GOOD, DeleteAsked(P, 2), DeleteAnswered(P, 2, 1))),
    "a start that goes back": (
        "StartStays",
        (
            *GOOD,
            DeleteAsked(P, 2),
            DeleteAnswered(P, 2, 2),
            *fetch(2, FetchPart(P, 0, 3, RECORDS[2:], start_offset=0)),
        ),
    ),
    "a start that a clean stop forgets": (
        "StartStays",
        (*GOOD, DeleteAsked(P, 2), Down(False, {P: LogState(2, 3, 3)}, clean=True), Up({P: LogState(0, 3, 3)})),
    ),
    "young records are gone": ("RetentionKeepsEnough", (*sent(AGED), Up({BRIEF: LogState(1, 2, 2)}))),
    "too few bytes are left": ("RetentionKeepsEnough", (*sent(LITTLE), Up({SMALL: LogState(1, 2, 2)}))),
    "old records are still there": (
        "RetentionTakesEnough",
        (*sent(AGED, EPOCH_MS - 20_000), Read(BRIEF, 0, 2, ((0, b"a"), (1, b"b")))),
    ),
    "more bytes than are to be kept": (
        "RetentionTakesEnough",
        (*sent(LITTLE), Read(SMALL, 0, 2, ((0, b"a"), (1, b"b")), size_bytes=1_000_000)),
    ),
    "the last of a key is gone": ("LastOfEachKeyStays", (*sent(TABLE), Read(KEYED, 0, 4, ((3, b"l|~"),)))),
    "a deleted key comes back": (
        "LastOfEachKeyStays",
        (*sent(TABLE), Read(KEYED, 0, 4, ((1, b"k|2"), (2, b"l|3")))),
    ),
    "compacted records change places": (
        "NoGap",
        (*sent(TABLE), Read(KEYED, 0, 4, ((3, b"l|~"), (1, b"k|2")))),
    ),
    "a static member finds another place": (
        "StaticKeepsItsPlace",
        (assigned("a", P, is_static=True), assigned("a", is_static=True)),
    ),
    "a ghost is heard": (
        "StaticKeepsItsPlace",
        (assigned("a", P, is_static=True), GhostAnswered("group", "a", "NONE")),
    ),
    "a partition that another one keeps": ("HandedOverFirst", (assigned("a", kept=(P,)), assigned("b", P))),
    "a fetch that waits for minutes": ("FetchesEndInTime", (Waited("client", 60_000, excused=False),)),
    "a reborn topic that is not empty": ("RebornBeginsAnew", (Sent(LIVING), Acknowledged(LIVING, 7))),
    "a life that is over takes a record": (
        "RebornBeginsAnew",
        (Sent(LIVING), TopicDecided("reborn", exists=False), Sent(LATE), Acknowledged(LATE, 0)),
    ),
    "a batch from after the snapshot with a later one behind it": (
        "SequenceIsKept",
        (Sent(FIRST), Sent(SECOND), down(False), up(3), OutOfSequence(FIRST, "refused")),
    ),
    "a client that waits for ever": ("EveryoneIsAnswered", (Unanswered("client", "Fetch", excused=False),)),
    "a client that gets nowhere": ("EveryoneMakesProgress", (Stuck("client"),)),
    "two owners": (
        "OneOwner",
        (Assigned("group", 1, "a", (P,), is_leader=True), Assigned("group", 1, "b", (P,), is_leader=False)),
    ),
    "a topic that vanished": (
        "TopicsSurvive",
        (TopicWanted("t", exists=True), TopicDecided("t", exists=True), TopicsRead(())),
    ),
    "a topic that came back": (
        "TopicsSurvive",
        (TopicWanted("t", exists=False), TopicDecided("t", exists=False), TopicsRead(("t",))),
    ),
}


@pytest.mark.parametrize("name", CALM)
def test_a_story_without_a_fault_is_not_objected_to(name: str) -> None:
    judge(CALM[name])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_story_is_objected_to_by_its_invariant(name: str) -> None:
    invariant, story = BROKEN[name]
    judge(story[:-1])
    with pytest.raises(Violation, match=f"^{invariant}:"):
        judge(story)
