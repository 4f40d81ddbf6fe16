"""What trials ask of a node, each in one call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.core.records.batch import BatchHeader, iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.record import Record, iterate
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from penstock.core.wire.api.metadata import MetadataRequest, MetadataRequestTopic
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.core.wire.api.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.node.world import Client, World

Pair = tuple[bytes | None, bytes | None]
GROUP = "g"


def pairs(*words: str) -> list[Pair]:
    """`a=1` is a record with a key, `a=` the mark of its deletion."""
    split = (word.partition("=") for word in words)
    return [(key.encode(), value.encode() or None) for key, _, value in split]


def produce_request(records: list[Pair], at_ms: int, acks: int = -1, topic: str = "t", **fields: Any) -> ProduceRequest:
    batch = bytes(build_batch([(key, value, (), at_ms) for key, value in records], **fields))
    data = PartitionProduceData(index=0, records=batch)
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])


def append(world: World, *words: str, late_ms: int = 0, **fields: Any) -> int:
    """Produce one batch to `t`, with the time of now or of `late_ms` ago; gives the error code."""
    answer = world.client().ask(produce_request(pairs(*words), world.now_ms - late_ms, **fields), 9)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def files(world: World, ending: str = "", folder: str = "/data/t-0") -> list[str]:
    return [path for path in world.files.paths() if path.startswith(f"{folder}/") and path.endswith(ending)]


def _batches(world: World, folder: str) -> Iterator[tuple[bytes, int, BatchHeader]]:
    for path in files(world, ".log", folder):
        data = world.files.content(path)
        for position, header in iterate_headers(data):
            yield data, position, header


def headers(world: World, folder: str = "/data/t-0") -> list[BatchHeader]:
    return [header for _, _, header in _batches(world, folder)]


def stored(world: World) -> list[Record]:
    """Every record in the files of `t`."""
    return [record for data, position, _ in _batches(world, "/data/t-0") for record in iterate(data, position)]


def words(world: World) -> list[str]:
    """The same, as `append` takes them."""
    return [f"{(record.key or b'').decode()}={(record.value or b'').decode()}" for record in stored(world)]


def metadata(world: World, topic: str | None = None, listener: str = "PLAINTEXT") -> Any:
    client = world.client()
    client.connection.context = client.connection.context._replace(listener=listener)
    topics = [] if topic is None else [MetadataRequestTopic(name=topic)]
    return client.ask(MetadataRequest(topics=topics))


def find_coordinator(world: World) -> None:
    answer = world.client().ask(FindCoordinatorRequest(key=GROUP, key_type=0), 2)
    assert answer.error_code == 0, answer


def commit(world: World, note: str = "") -> int:
    """Commit an offset of `t`; gives the error code."""
    find_coordinator(world)
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata=note)
    topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
    answer = world.client().ask(OffsetCommitRequest(group_id=GROUP, member_id="", topics=[topic]), 8)
    code: int = answer.topics[0].partitions[0].error_code
    return code


def committed(world: World) -> int:
    """The committed offset, or -1."""
    topic = OffsetFetchRequestTopic(name="t", partition_indexes=[0])
    answer = world.client().ask(OffsetFetchRequest(group_id=GROUP, topics=[topic]), 7)
    offset: int = answer.topics[0].partitions[0].committed_offset
    return offset


def join(world: World, session_timeout_ms: int = 10_000, metadata: bytes = b"") -> Client:
    """Ask to join a group, in a version that does not need to be asked twice; the answer may come later."""
    find_coordinator(world)
    client = world.client()
    request = JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=60_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )
    client.send(request, 3)
    world.settle()
    return client
