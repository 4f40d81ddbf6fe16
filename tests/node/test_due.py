"""What a machine has decided to be done: after the commit, however long that takes, and never of what is lost."""

from __future__ import annotations

from penstock.core.groups.offsets.records import offset_record
from penstock.core.groups.offsets.store import CommittedOffset
from penstock.core.node.serving.slots import Answerable
from penstock.core.rsm.result import Due, Performer, Result
from penstock.core.wire.api.offset_commit import OffsetCommitResponse
from penstock.core.wire.schema import Message
from tests.node.test_coordinators import grouped
from tests.node.world import World


class Performing(Performer):
    def __init__(self) -> None:
        self.done: list[Due] = []

    def perform(self, due: Due) -> None:
        self.done.append(due)


class Client(Answerable):
    def __init__(self) -> None:
        self.heard: list[Message] = []

    def reply(self, message: Message) -> None:
        self.heard.append(message)


def decide(world: World) -> tuple[Performing, Client, Due]:
    """Something is to be done once an offset is committed, and a client waits for the same."""
    performing, client, due = Performing(), Client(), Due()
    record = offset_record("g", "t", 0, CommittedOffset(7, -1, "", world.now_ms, None, bytes(16)))
    result = Result([record], [(performing, due), (client, OffsetCommitResponse())])
    world.turn(lambda: world.node.coordinators.groups.find("g").run(lambda machine: result))
    return performing, client, due


def test_it_is_done_once_it_is_committed() -> None:
    world, _ = grouped()
    world.hold()
    performing, client, due = decide(world)
    assert (performing.done, client.heard) == ([], [])
    world.release()
    assert performing.done == [due]
    assert len(client.heard) == 1


def test_it_waits_for_longer_than_a_client() -> None:
    world, _ = grouped()
    world.hold()
    performing, client, due = decide(world)
    world.pass_time(60_000, settle=False)
    assert len(client.heard) == 1
    assert performing.done == []
    world.release()
    assert performing.done == [due]
    assert len(client.heard) == 1


def test_it_is_not_done_where_the_decision_is_lost() -> None:
    world, _ = grouped()
    world.files.space_bytes = 0
    world.hold()
    performing, client, _ = decide(world)
    world.release()
    assert performing.done == []
    assert len(client.heard) == 1
