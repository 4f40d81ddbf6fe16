"""What the metadata does not know is set aside; what it says is deleted goes, whoever was away."""

from __future__ import annotations

import pytest

from penstock.core.base.steps import at_once
from penstock.core.log.directory import LogDirectory
from penstock.core.log.log import Log
from penstock.core.log.names import METADATA_DIR
from penstock.core.log.strays import decode_note, parse_stray
from penstock.core.metadata.difference import difference
from penstock.core.metadata.fold import fold
from penstock.core.metadata.image import Image, TopicImage
from penstock.core.node.health_check import complaints
from penstock.core.node.storage.ownership import Held, why_kept
from penstock.core.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.stored.cluster_metadata import PartitionRecord, TopicRecord
from penstock.shell.exposition.rendering import Exposition
from penstock.sim.cluster import ClusterNodes
from penstock.sim.world import DATA
from tests.node.towns import Town
from tests.node.world import World, fetch, found_in, produce, values_of

ID = b"i" * 16
ALL = (1, 2, 3)


def folders(world: World) -> list[str]:
    """The partition folders on the disk, and those that were set aside or are on their way out."""
    return sorted(
        path.removeprefix("/data/")
        for path in world.disk.folders
        if path.startswith("/data/") and not path.endswith(METADATA_DIR)
    )


def strays(world: World) -> list[str]:
    return [name for name in folders(world) if parse_stray(name)]


def lose_metadata(world: World) -> None:
    for path in [path for path in world.files.paths() if f"/{METADATA_DIR}/" in path]:
        del world.disk.names[path]


def delete(world: World, name: str) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1000)
    assert world.client().ask(request).responses[0].error_code == 0


def with_records(**settings: str) -> World:
    """`t` has records in one of its two partitions."""
    world = World(settings)
    world.create("t", 2)
    world.client().ask(produce("t", b"kept"), 9)
    return world


@pytest.mark.parametrize("clean", [True, False])
def test_what_the_metadata_does_not_know_is_set_aside_once_it_holds_records(clean: bool) -> None:
    world = with_records()
    topic_id = world.topic_id("t")
    if clean:
        world.stop()
    lose_metadata(world)
    world.notes.clear()
    world.restart(clean=False)
    (name,) = folders(world)
    assert name == f"t-0.{topic_id.hex()}-stray"
    note = decode_note(world.files.content(f"/data/{name}/stray.json"))
    assert note is not None
    assert note[:4] == ("t", 0, 0, 1)
    (told,) = [text for _, text in world.notes if "set aside" in text]
    assert "1 partition(s)" in told
    assert "t-0" in told
    assert "\npenstock_stray_partitions 1\n" in b"".join(at_once(Exposition(world.node).render())).decode()
    assert [line for line in complaints(world.node) if "set aside" in line]
    assert world.node.state == "running"
    world.create("t", 1)
    world.restart()
    assert folders(world) == ["t-0", name], "it is found again, and stays"
    assert [text for _, text in world.notes if "set aside by earlier starts" in text]


def test_a_deletion_that_was_recorded_is_carried_out_by_the_next_process(monkeypatch: pytest.MonkeyPatch) -> None:
    world = with_records()
    with monkeypatch.context() as patch:
        patch.setattr(LogDirectory, "discard", lambda self, log: self.logs.pop((log.topic, log.partition)))
        delete(world, "t")
    assert folders(world) == ["t-0", "t-1"]
    world.restart(clean=False)
    assert folders(world) == []


def test_a_topic_that_was_created_again_does_not_get_the_old_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot has left the deletion out: it is not known any more."""
    world = with_records()
    old = world.topic_id("t")
    world.stop()
    lose_metadata(world)
    with monkeypatch.context() as patch:
        patch.setattr(LogDirectory, "set_aside", lambda self, log, why: self.logs.pop((log.topic, log.partition)))
        patch.setattr(LogDirectory, "discard", lambda self, log: self.logs.pop((log.topic, log.partition)))
        world.restart(clean=False)
        patch.setattr(LogDirectory, "create", _nothing)
        world.create("t")
    world.restart(clean=False)
    assert folders(world) == ["t-0", f"t-0.{old.hex()}-stray"]
    assert values_of(found_in(world.client().ask(fetch({("t", 0): 0}), 11))["t", 0].records) == []


def _nothing(self: LogDirectory, topic: str, *given: object, **named: object) -> object:
    yield from ()
    raise_nothing = Log(topic, 0, f"{self.root}/nowhere-0", named["settings"], self._context, 0)  # type: ignore[arg-type]  # as given
    return raise_nothing


def test_a_snapshot_that_lacks_a_topic_deletes_nothing() -> None:
    world = with_records()
    before = world.node.image
    lacking = Image(before.offset, brokers=before.brokers, features=before.features)
    world.turn(lambda: world.node.publish(lacking, difference(before, lacking), lambda code: None))
    world.settle()
    assert [name.partition(".")[0] for name in folders(world)] == ["t-0"]
    assert strays(world) == folders(world)


def placed(*replicas: int, epoch: int = 3) -> TopicImage:
    partition = PartitionRecord(
        topic_id=ID, partition_id=0, replicas=list(replicas), isr=list(replicas), leader=replicas[0], leader_epoch=epoch
    )
    topic = fold(Image(), [TopicRecord(name="t", topic_id=ID), partition], 1)[0].topic("t")
    assert topic is not None
    return topic


def test_why_a_log_is_kept() -> None:
    held = Held(ID, 0, 3, has_records=True)
    assert why_kept(held, placed(2)) is None, "another broker has it, by a decision that is newer than the records"
    assert why_kept(held._replace(has_records=False), None) is None
    assert "older than the records" in str(why_kept(held, placed(2, epoch=2)))
    assert "another topic" in str(why_kept(held._replace(topic_id=b"o" * 16), placed(2)))
    assert "no topic" in str(why_kept(held, None))
    assert "no such partition" in str(why_kept(held._replace(partition=1), placed(2)))
    assert "does not say" in str(why_kept(held._replace(topic_id=None), placed(2)))


class Three(Town):
    """Three nodes, and a topic of which all of them have a record."""

    def __init__(self) -> None:
        super().__init__(3, ClusterNodes(3, {"min.insync.replicas": "1"}))
        self.boot(*ALL)
        assert self.create(1, "t", 3) == 0
        self.wait(lambda: self.has_leader() and all(self.end_of(each) == 0 for each in ALL))
        topic = self.node(1).image.topic("t")
        assert topic is not None
        request = produce("t", b"kept", timeout_ms=10_000)
        request.topic_data[0].topic_id = topic.id
        assert self.ask(topic.leaders[0], request).responses[0].partition_responses[0].error_code == 0
        self.wait(lambda: all(self.end_of(each) == 1 for each in ALL))

    def end_of(self, number: int) -> int:
        replica = self.node(number).replicas.get("t", 0) if self.is_running(number) else None
        return -1 if replica is None else replica.log.written_offset

    def folders(self, number: int) -> list[str]:
        entries = self.world.sites[number].disk.volume.platter.entries(DATA)
        return [entry.name for entry in entries if entry.is_dir and entry.name.startswith("t-")]

    def records_of(self, number: int) -> int:
        """How many bytes of records there are, whatever their folder is called."""
        platter = self.world.sites[number].disk.volume.platter
        files = [entry for name in self.folders(number) for entry in platter.entries(f"{DATA}/{name}")]
        return sum(entry.size for entry in files if entry.name.endswith(".log"))

    def lose_metadata(self, number: int) -> None:
        platter = self.world.sites[number].disk.volume.platter
        for entry in platter.entries(f"{DATA}/{METADATA_DIR}"):
            platter.remove(f"{DATA}/{METADATA_DIR}/{entry.name}")


def test_a_topic_that_was_deleted_while_a_broker_was_down_goes_there_too() -> None:
    town = Three()
    town.world.sites[3].crash(8_000_000)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=20_000)
    assert town.ask(1, request).responses[0].error_code == 0
    town.wait(lambda: not town.is_running(3))
    town.wait(lambda: town.is_running(3) and not any(map(town.folders, ALL)))


def test_a_replica_that_was_moved_away_while_its_broker_was_down_goes() -> None:
    town = Three()
    town.world.sites[3].crash(8_000_000)
    partitions = [ReassignablePartition(partition_index=index, replicas=[1, 2]) for index in range(2)]
    topic = ReassignableTopic(name="t", partitions=partitions)
    request = AlterPartitionReassignmentsRequest(topics=[topic], timeout_ms=20_000)
    assert town.ask(1, request).error_code == 0
    town.wait(lambda: not town.is_running(3))
    town.wait(lambda: town.is_running(3) and not town.folders(3))
    assert town.folders(1) == ["t-0", "t-1"]


def test_two_of_three_that_lose_their_metadata_make_nobody_delete_records() -> None:
    town = Three()
    for number, down_us in ((1, 1_000_000), (2, 1_000_000), (3, 20_000_000)):
        town.world.sites[number].crash(down_us)
    for number in (1, 2):
        town.lose_metadata(number)
    town.wait(lambda: town.is_running(1) and town.is_running(2))
    assert town.create(1, "u", 1) == 0
    town.wait(lambda: all(list(map(parse_stray, town.folders(each))) == [("t", 0)] for each in (1, 2)))
    town.wait(lambda: town.is_running(3))
    town.pass_time(5)
    assert all(town.records_of(each) for each in ALL)
