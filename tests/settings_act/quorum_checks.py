"""What is seen of the metadata quorum: snapshots, files, and how patient a voter is that hears from nobody."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.apis.table import make_node
from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Buffer, WireEvents
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.image import GROUP_RESOURCE
from penstock.core.metadata.storage import Meta, encode_meta, uuid_text
from penstock.core.raft.ids import TOPIC, TOPIC_ID
from penstock.core.raft.raft import Raft
from penstock.core.raft.roles import Follower
from penstock.core.wire.api import begin_quorum_epoch, end_quorum_epoch, fetch, fetch_snapshot
from penstock.core.wire.schema import Request
from penstock.core.wire.stored.cluster_metadata import ConfigRecord
from penstock.sim.dynamic import DynamicNodes
from tests.log.memory_files import Disk, Inode
from tests.node.towns import Town
from tests.node.world import Client, Seeded, World
from tests.settings_act.trial import NOTHING, Trial

CLUSTER = uuid_text(bytes(16))
FOLDER = f"/data/{TOPIC}-0/"
SNAPSHOTS_SOON = {"metadata.log.max.record.bytes.between.snapshots": "300"}
TWO_VOTERS = {"controller.quorum.voters": "1@127.0.0.1:9093,2@10.0.0.2:9093"}
LARGE_BATCHES = 10
RECORDS_PER_BATCH = 30
LARGE_BYTES = 30_000


# The log and its snapshots


def _files(world: World, ending: str) -> list[str]:
    return sorted(path for path in world.files.paths() if path.startswith(FOLDER) and path.endswith(ending))


def snapshots_after_some_topics(trial: Trial) -> int:
    world = trial.begin()
    for number in range(8):
        world.create(f"t{number}")
    return len(_files(world, ".checkpoint"))


def snapshots_after(trial: Trial, duration_ms: int) -> int:
    world = trial.begin(topic={})
    world.jump(duration_ms)
    return len(_files(world, ".checkpoint"))


def metadata_segments(trial: Trial) -> int:
    world = trial.begin()
    answers: list[ErrorCode] = []
    record = ConfigRecord(resource_type=GROUP_RESOURCE, resource_name="g", name="x", value="y" * LARGE_BYTES)
    for _ in range(LARGE_BATCHES):
        world.turn(lambda: world.node.submit([record] * RECORDS_PER_BATCH, answers.append))
        world.settle()
    assert answers == [ErrorCode.NONE] * LARGE_BATCHES
    return len(_files(world, ".log"))


# What a leader gives


def _on_controllers(world: World, request: Request) -> object:
    connection = world.node.connect("10.0.0.2", 1, "CONTROLLER")
    assert connection is not None
    world.clients[connection] = client = Client(world, connection)
    return client.ask(request)


def fetched_batches(trial: Trial) -> bool:
    """Whether one fetch gives more than one batch of the metadata log."""
    world = trial.begin(topic={})
    partition = fetch.FetchPartition(
        partition=0, current_leader_epoch=world.node.quorum.epoch, last_fetched_epoch=0, partition_max_bytes=1 << 20
    )
    request = fetch.FetchRequest(
        replica_state=fetch.ReplicaState(replica_id=9),
        topics=[fetch.FetchTopic(topic_id=TOPIC_ID, partitions=[partition])],
    )
    answer = _on_controllers(world, request)
    assert isinstance(answer, fetch.FetchResponse)
    records = answer.responses[0].partitions[0].records
    first = int.from_bytes(bytes(records or b"")[8:12], "big") + 12  # type: ignore[arg-type]  # It came from the wire.
    return len(records or b"") > first


def fetched_snapshot_bytes(trial: Trial) -> bool:
    """Whether one request gives more than ten bytes of a snapshot."""
    world = trial.begin(SNAPSHOTS_SOON, topic={})
    newest = _files(world, ".checkpoint")[-1].removeprefix(FOLDER)
    snapshot_id = fetch_snapshot.RequestSnapshotId(end_offset=int(newest[:20]), epoch=int(newest[21:31]))
    partition = fetch_snapshot.RequestPartitionSnapshot(
        partition=0, current_leader_epoch=world.node.quorum.epoch, snapshot_id=snapshot_id
    )
    request = fetch_snapshot.FetchSnapshotRequest(
        topics=[fetch_snapshot.RequestTopicSnapshot(name=TOPIC, partitions=[partition])]
    )
    answer = _on_controllers(world, request)
    assert isinstance(answer, fetch_snapshot.FetchSnapshotResponse)
    return len(answer.topics[0].partitions[0].unaligned_records or b"") > 10


# A controller that comes later


def joins_by_itself(trial: Trial) -> bool:
    """Whether a controller that was formatted without voters becomes one."""
    given = {name: value for name, value in trial.settings(NOTHING).items() if value is not None}
    town = Town(2, DynamicNodes(2, 1, given))
    town.boot(1)
    town.boot(2)
    town.pass_time(10)
    return town.voters(1) == [1, 2]


# A voter whose peer is silent


class Silence:
    """A network in which nobody ever answers."""

    def __init__(self) -> None:
        self.dialled: list[WireEvents] = []
        self.addresses: set[tuple[str, int]] = set()

    def dial(self, host: str, port: int, events: WireEvents, listener: str = "") -> Silence:
        self.dialled.append(events)
        self.addresses.add((host, port))
        return self

    def send(self, parts: Sequence[Buffer]) -> None:
        """It is lost."""

    def close(self) -> None:
        """Nobody notices."""

    reset = close


class Voter(World):
    """One of two voters, alone in silence."""

    def __init__(self, trial: Trial, **settings: str) -> None:
        disk = Disk()
        disk.folders.add("/data")
        disk.names["/data/meta.properties"] = Inode(encode_meta(Meta(1, CLUSTER, 1, uuid_text(bytes([1]) * 16))))
        given = trial.settings({**TWO_VOTERS, **{name.replace("_", "."): value for name, value in settings.items()}})
        self.network = Silence()
        super().__init__({name: value for name, value in given.items() if value is not None}, disk, start=False)
        self.node = make_node(
            BrokerSettings(self.file()),
            self.files,
            Seeded(1),
            lambda fact: self.notes.append((fact.level, fact.text)),
            self.network,
        )
        self.start()

    @property
    def raft(self) -> Raft:
        return self.node.quorum.raft

    @property
    def due_in_ms(self) -> int:
        assert self.raft.deadline_ms is not None
        return self.raft.deadline_ms - self.now_ms

    def follow(self) -> None:
        """Hear that the other one leads."""
        api = begin_quorum_epoch
        told = api.RequestPartitionData(partition_index=0, leader_id=2, leader_epoch=5)
        topic = api.RequestTopicData(topic_name=TOPIC, partitions=[told])
        endpoint = api.LeaderEndpoint(name="CONTROLLER", host="10.0.0.2", port=9093)
        _on_controllers(self, api.BeginQuorumEpochRequest(topics=[topic], leader_endpoints=[endpoint]))

    @property
    def leader_silent_ms_max(self) -> int:
        assert isinstance(self.raft.role, Follower)
        return self.raft.role.deadline_ms - self.now_ms


def waits_long_before_it_runs(trial: Trial) -> bool:
    return Voter(trial, controller_quorum_request_timeout_ms="60000").due_in_ms >= 5_000


def silence_of_a_leader_s(trial: Trial) -> int:
    """In whole seconds: not all followers wait equally long."""
    voter = Voter(trial)
    voter.follow()
    return voter.leader_silent_ms_max // 1000


def delay_of_the_last_successor_ms(trial: Trial) -> int:
    voter, api = Voter(trial), end_quorum_epoch
    voter.follow()
    successor = api.ReplicaInfo(candidate_id=3)
    told = api.RequestPartitionData(partition_index=0, leader_id=2, leader_epoch=5, preferred_candidates=[successor])
    topic = api.RequestTopicData(topic_name=TOPIC, partitions=[told])
    _on_controllers(voter, api.EndQuorumEpochRequest(topics=[topic]))
    return voter.leader_silent_ms_max


PATIENT = {"controller_quorum_election_timeout_ms": "60000"}


def patience_with_a_request_ms(trial: Trial) -> int:
    return Voter(trial, **PATIENT).due_in_ms


def rest_after_a_failure_ms(trial: Trial) -> int:
    voter = Voter(trial, **PATIENT)
    voter.turn(lambda: voter.network.dialled[0].lost(True))
    return voter.due_in_ms


def asks_who_leads(trial: Trial) -> bool:
    """Whether somebody is asked who is not named among the voters."""
    return ("10.0.0.9", 9093) in Voter(trial).network.addresses
