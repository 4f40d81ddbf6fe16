"""What a hostile client tries, by name. Each act is small for the world that plays it; the bounds that it runs into are
set low where there are hostile clients (`HOSTILE_SETTINGS`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.log.names import METADATA_TOPIC as METADATA
from penstock.core.records import checksum
from penstock.core.records.batch import HEADER, BatchHeader, read_header
from penstock.core.records.build import build_batch
from penstock.core.wire.api.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from penstock.core.wire.api.begin_quorum_epoch import RequestPartitionData as BegunPartition
from penstock.core.wire.api.begin_quorum_epoch import RequestTopicData as BegunTopic
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from penstock.core.wire.api.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from penstock.core.wire.api.end_quorum_epoch import RequestPartitionData as EndedPartition
from penstock.core.wire.api.end_quorum_epoch import RequestTopicData as EndedTopic
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from penstock.core.wire.api.vote import RequestPartitionData as VotedPartition
from penstock.core.wire.api.vote import RequestTopicData as VotedTopic
from penstock.core.wire.api.vote import VoteRequest, VoteResponse
from penstock.core.wire.frames import request_frame
from penstock.core.wire.schema import Request, Response
from penstock.sim.clients.hostile import Act, Hostile
from penstock.sim.events import Partition
from penstock.sim.machine import BROKER_PORT, CONTROLLER_PORT
from penstock.sim.scheduler import EPOCH_MS, MS, SECOND
from penstock.sim.script import Script, Sleep

GREATEST: Final = 2**31 - 1
EPOCHS: Final = (GREATEST, GREATEST - 1, 2**30)
STRANGER: Final = 99
TIMEOUT_MS: Final = 10_000
BY_NAME_VERSION: Final = 12
FRAME_BYTES_MAX: Final = 4_000
HELD_US_MAX: Final = 3 * SECOND
KEYS_MAX: Final = 90

_size = Struct(">i").pack
_start = Struct(">hhih").pack


def _noise(hostile: Hostile) -> Script[None]:
    """Bytes of which only the beginning may be in order."""
    chance = hostile.chance
    bare = hostile.bare(chance.pick((BROKER_PORT, CONTROLLER_PORT)))
    for _ in range(chance.between(1, 5)):
        body = _start(chance.between(-1, KEYS_MAX), chance.between(-1, 20), 7, chance.pick((-1, 0, 5, 3_000)))
        body += chance.bytes(chance.skewed(0, FRAME_BYTES_MAX))
        size = chance.pick((len(body), len(body), len(body) // 2, -1, 0, GREATEST))
        bare.send(_size(size) + body)
        yield Sleep(chance.skewed(0, SECOND))
    bare.close()


def _metadata_topic(hostile: Hostile) -> Script[None]:
    """The name of the log in which the cluster's metadata stands, taken for a topic's."""
    tried = hostile.chance.pick((_create_it, _write_it, _delete_it, _look_for_it))
    code = yield from tried(hostile)
    if code == ErrorCode.NONE:
        hostile.granted(f"{tried.__name__.strip('_')}: {METADATA}")


def _create_it(hostile: Hostile) -> Script[int]:
    topic = CreatableTopic(name=METADATA, num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
    reply = yield from hostile.ask(request, CreateTopicsResponse)
    return reply.topics[0].error_code


def _delete_it(hostile: Hostile) -> Script[int]:
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=METADATA)], topic_names=[METADATA], timeout_ms=TIMEOUT_MS
    )
    reply = yield from hostile.ask(request, DeleteTopicsResponse)
    return reply.responses[0].error_code


def _look_for_it(hostile: Hostile) -> Script[int]:
    """Which would make it, if nobody refused."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=METADATA)], allow_auto_topic_creation=True)
    reply = yield from hostile.ask(request, MetadataResponse)
    return reply.topics[0].error_code


def _write_it(hostile: Hostile) -> Script[int]:
    records = build_batch([(None, b"harm", (), _now_ms(hostile))])
    data = TopicProduceData(name=METADATA, partition_data=[PartitionProduceData(index=0, records=records)])
    request = ProduceRequest(acks=1, timeout_ms=TIMEOUT_MS, topic_data=[data])
    connection = yield from hostile.client.connect()
    reply: ProduceResponse = yield connection.ask(request, ProduceResponse, BY_NAME_VERSION)
    return reply.responses[0].partition_responses[0].error_code


def _lies(hostile: Hostile) -> Script[None]:
    """A batch whose header cannot be true, with a checksum that is."""
    chance = hostile.chance
    name = chance.pick(list(LIES))
    partition = chance.pick(hostile.partitions)
    honest = build_batch([(None, chance.bytes(20), (), _now_ms(hostile)) for _ in range(chance.between(1, 3))])
    records = _with_header(honest, LIES[name])
    data = TopicProduceData(
        name=partition.topic,
        topic_id=hostile.topic_ids[partition.topic],
        partition_data=[PartitionProduceData(index=partition.number, records=records)],
    )
    request = ProduceRequest(acks=chance.pick((1, -1)), timeout_ms=TIMEOUT_MS, topic_data=[data])
    connection = yield from hostile.client.connect_to(partition)
    reply: ProduceResponse = yield connection.ask(request, ProduceResponse)
    result = reply.responses[0].partition_responses[0]
    if result.error_code == ErrorCode.NONE:
        hostile.granted(f"{name}: a batch at {result.base_offset} of {partition}")
    elif result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
        hostile.client.lose(partition)


LIES: Final[Mapping[str, Mapping[str, int]]] = {
    "more records than there are offsets": {"last_offset_delta": GREATEST - 1, "count": GREATEST},
    "more records than bytes": {"last_offset_delta": 999_999, "count": 1_000_000},
    "no record": {"count": 0},
    "less than no record": {"count": -5},
    "fewer offsets than records": {"last_offset_delta": -1},
    "offsets without records": {"last_offset_delta": GREATEST - 1},
    "no magic": {"magic": 7},
}
"""What the header says instead."""


def _with_header(batch: bytearray, changes: Mapping[str, int]) -> bytearray:
    header: BatchHeader = read_header(batch)._replace(**changes)
    HEADER.pack_into(batch, 0, *header)
    HEADER.pack_into(batch, 0, *header._replace(crc=checksum.compute(batch, 0, header.size)))
    return batch


def _votes(hostile: Hostile) -> Script[None]:
    """Epochs after which there are hardly any left, asked for by voters and by strangers."""
    chance = hostile.chance
    epoch, voter = chance.pick(EPOCHS), chance.pick((1, 2, 3, STRANGER))
    asked: Sequence[tuple[Request, type[Response]]] = (
        (_vote(voter, epoch, is_pre=False), VoteResponse),
        (_vote(voter, epoch, is_pre=True), VoteResponse),
        (_beginning(voter, epoch), BeginQuorumEpochResponse),
        (_end(voter, epoch), EndQuorumEpochResponse),
    )
    yield from hostile.ask(*chance.pick(asked), CONTROLLER_PORT)


def _vote(voter: int, epoch: int, is_pre: bool) -> VoteRequest:
    asked = VotedPartition(
        partition_index=0,
        replica_epoch=epoch,
        replica_id=voter,
        last_offset_epoch=epoch - 1,
        last_offset=2**40,
        pre_vote=is_pre,
    )
    return VoteRequest(topics=[VotedTopic(topic_name=METADATA, partitions=[asked])])


def _beginning(leader: int, epoch: int) -> BeginQuorumEpochRequest:
    asked = BegunPartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
    return BeginQuorumEpochRequest(topics=[BegunTopic(topic_name=METADATA, partitions=[asked])])


def _end(leader: int, epoch: int) -> EndQuorumEpochRequest:
    asked = EndedPartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
    return EndQuorumEpochRequest(topics=[EndedTopic(topic_name=METADATA, partitions=[asked])])


def _unfinished(hostile: Hostile) -> Script[None]:
    """Frames of which the end never comes."""
    chance = hostile.chance
    machine = hostile.any_machine()
    bares = [hostile.bare(number=machine) for _ in range(chance.between(1, 10))]
    for bare in bares:
        bare.send(_size(chance.between(UNFINISHED_BYTES, 50 << 20)) + bytes(chance.between(1, UNFINISHED_BYTES)))
    yield Sleep(chance.between(1, HELD_US_MAX))
    for bare in bares:
        bare.close()


def _crowd(hostile: Hostile) -> Script[None]:
    """More connections than anybody needs, all to be kept for a while."""
    bares = [hostile.bare() for _ in range(CROWD)]
    yield Sleep(hostile.chance.between(1, HELD_US_MAX))
    for bare in bares:
        bare.close()


def _large_joins(hostile: Hostile) -> Script[None]:
    """Static members that say much of themselves, of whom nobody is heard again. One of the machines knows their
    group."""
    said = JoinGroupRequestProtocol(name="range", metadata=bytes(JOIN_BYTES))
    group = f"hostile-{hostile.chance.between(1, 3)}"
    bares = [hostile.bare(number=number) for number in hostile.machines]
    for _ in range(JOINS):
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=TIMEOUT_MS,
            rebalance_timeout_ms=TIMEOUT_MS,
            member_id="",
            group_instance_id=f"instance-{hostile.chance.between(1, 1_000)}",
            protocol_type="consumer",
            protocols=[said],
        )
        parts: list[Any] = request_frame(request, request.KEY, JOIN_VERSION, 7, hostile.client.name)
        for bare in bares:
            bare.send(b"".join(parts))
    yield Sleep(hostile.chance.between(1, HELD_US_MAX))
    for bare in bares:
        bare.close()


def _elements(hostile: Hostile) -> Script[None]:
    """Requests about more things than anybody has."""
    names = [f"h{number}" for number in range(ELEMENTS)]
    asked: Sequence[tuple[Request, type[Response]]] = (
        (DescribeGroupsRequest(groups=names), DescribeGroupsResponse),
        (DeleteGroupsRequest(groups_names=names), DeleteGroupsResponse),
        (MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names]), MetadataResponse),
    )
    request, response = hostile.chance.pick(asked)
    yield from hostile.ask(request, response)
    hostile.granted(f"an answer to {type(request).__name__} with {ELEMENTS} elements")


def _producers(hostile: Hostile) -> Script[None]:
    """Producer ids that nobody was given, in a topic of its own, each used once."""
    chance = hostile.chance
    topic = CreatableTopic(name=HARM, num_partitions=1, replication_factor=-1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
    created = yield from hostile.ask(request, CreateTopicsResponse)
    if created.topics[0].error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        return
    connection = yield from hostile.client.connect_to(Partition(HARM, 0))
    for _ in range(PRODUCERS):
        producer_id = chance.between(1 << 40, 1 << 41)
        records = build_batch(
            [(None, b"harm", (), _now_ms(hostile))], producer_id=producer_id, producer_epoch=0, base_sequence=0
        )
        data = TopicProduceData(name=HARM, partition_data=[PartitionProduceData(index=0, records=records)])
        written = ProduceRequest(acks=1, timeout_ms=TIMEOUT_MS, topic_data=[data])
        reply: ProduceResponse = yield connection.ask(written, ProduceResponse, BY_NAME_VERSION)
        if reply.responses[0].partition_responses[0].error_code:
            hostile.client.lose(Partition(HARM, 0))
            return


def _now_ms(hostile: Hostile) -> int:
    return EPOCH_MS + hostile.client.world.scheduler.now_us // MS


UNFINISHED_BYTES: Final = 30_000
CROWD: Final = 30
JOIN_BYTES: Final = 8_000
JOINS: Final = 12
JOIN_VERSION: Final = 5
ELEMENTS: Final = 1_100
PRODUCERS: Final = 25
HARM: Final = "harm"

ACTS: Final[Mapping[str, Act]] = {
    "noise": _noise,
    "metadata-topic": _metadata_topic,
    "lies": _lies,
    "votes": _votes,
    "unfinished": _unfinished,
    "crowd": _crowd,
    "large-joins": _large_joins,
    "elements": _elements,
    "producers": _producers,
}
