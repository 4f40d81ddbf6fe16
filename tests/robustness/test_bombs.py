"""Every path on which something is unpacked: what a bomb makes it hold, and what is said of it.

A broker takes a batch as it is, unless it has to read the records; so whoever reads what is stored meets bombs too.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from penstock.client import batches
from penstock.client.batches import UNPACKED_BYTES_MAX, read_batches
from penstock.client.exactly_once.marks import Found
from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings import SettingError
from penstock.core.node.schemas.knowledge import SchemaKnowledge
from penstock.core.partition import traffic
from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.codecs import DECOMPRESSED_BYTES_MAX, Codec, compress, decompress
from penstock.core.records.errors import BodyTooLarge, CorruptBatch
from penstock.core.wire.api.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from penstock.core.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.log.helpers import append, new_log
from tests.log.memory_files import MemoryFiles
from tests.log.test_compaction import COMPACT, clean
from tests.node.test_client_telemetry import asked, push, subscribed
from tests.node.world import NOW_MS, Client, World
from tests.robustness.bombs import MEGABYTE, PACKED, bomb, heap, holds_at_most
from tests.robustness.process import resident_kb, resident_kb_max, start_resident_kb_max
from tests.schema_topic.records import schema

V = 9
TOLD = "the body unpacks to more than 134217728 bytes"
TWICE = 2 * DECOMPRESSED_BYTES_MAX + 16 * MEGABYTE
"""Room to unpack into, and the bytes in the end."""
LATEST = -3


@pytest.fixture(scope="module")
def burst() -> bytes:
    return bomb()


@pytest.mark.parametrize("codec", PACKED)
def test_what_the_system_sees(codec: Codec) -> None:
    """The libraries take memory of their own, which Python does not count."""
    packed, bound = compress(codec, bytes(128 * MEGABYTE)), 16 * MEGABYTE
    here = os.getpid()
    before_kb = resident_kb(here)
    start_resident_kb_max(here)
    with pytest.raises(BodyTooLarge):
        decompress(codec, packed, bound)
    assert resident_kb_max(here) - before_kb < 3 * bound // 1024


# At a node


def produced(client: Client, topic: str, batch: bytes) -> tuple[int, str | None]:
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])]
    client.send(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data), V)
    client.world.settle()
    client.world.pass_time(1000)
    (answer,) = client.replies()
    part = answer.responses[0].partition_responses[0]
    return part.error_code, part.error_message


@pytest.mark.parametrize(
    "asks",
    [{"cleanup_policy": "compact"}, {"penstock_batch_validation": "records"}, {"compression_type": "gzip"}],
    ids=str,
)
def test_produced_where_records_are_read(asks: dict[str, str], burst: bytes) -> None:
    world = World()
    world.create("t", **asks)
    client = world.client()
    with holds_at_most(2 * 64 * MEGABYTE + 16 * MEGABYTE):
        code, message = produced(client, "t", burst)
    assert code == ErrorCode.MESSAGE_TOO_LARGE
    assert message is not None
    assert "unpacks to more than 67108864 bytes" in message
    assert produced(client, "t", bytes(build_batch([(b"k", b"v", (), NOW_MS)])))[0] == 0


def stored(burst: bytes) -> tuple[World, Client]:
    """A node that keeps it as it came."""
    world = World()
    world.create("t")
    client = world.client()
    with holds_at_most(8 * MEGABYTE):
        assert produced(client, "t", burst) == (0, None)
    return world, client


@pytest.mark.parametrize("time_ms", [NOW_MS, LATEST])
def test_looked_through_for_a_time(time_ms: int, burst: bytes) -> None:
    world, client = stored(burst)
    wanted = [ListOffsetsPartition(partition_index=0, timestamp=time_ms)]
    with holds_at_most(TWICE):
        answer = client.ask(ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=wanted)]), 7)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.CORRUPT_MESSAGE
    assert any(TOLD in text for _, text in world.notes)


def test_compacted() -> None:
    """A topic that became compacted later is left as it is, and that is told."""
    files = MemoryFiles()
    log = new_log(files, COMPACT)
    told: list[str] = []
    log.context = replace(log.context, on_corrupt=lambda log, error, offset: told.append(str(error)))
    append(log, bytearray(bomb()))
    log.roll(NOW_MS)
    before = files.content(log.segments[0].log.path)
    with holds_at_most(TWICE):
        assert clean(files, log) is None
    assert told == [f"corrupt batch at offset 0: {TOLD}"]
    assert files.content(log.segments[0].log.path) == before


def test_what_may_be_produced_can_be_compacted() -> None:
    """However a broker is set, it takes no batch that compaction would stop at."""
    with pytest.raises(SettingError, match="unpacked"):
        World({"penstock.batch.unpacked.bytes.max": str(DECOMPRESSED_BYTES_MAX + 1)})
    assert World({"penstock.batch.unpacked.bytes.max": str(DECOMPRESSED_BYTES_MAX)})


def test_looked_at_for_the_metrics(burst: bytes) -> None:
    intake = traffic.Intake()
    with holds_at_most(2 * traffic.UNPACKED_BYTES_MAX):
        intake.sample(memoryview(burst), NOW_MS)
    assert intake.samples == {}


def test_read_for_schemas(burst: bytes) -> None:
    """It is passed over, once, and what comes behind it is learned."""
    world = World()
    world.create("_schemas")
    key, value = schema("t-value", 1, 7)
    with holds_at_most(TWICE):
        for batch in (burst, bytes(build_batch([(key, value, (), NOW_MS)]))):
            assert produced(world.client(), "_schemas", batch)[0] == 0
        world.pass_time(5_000)
    assert [text for _, text in world.notes if TOLD in text] == [
        f"a batch of _schemas is passed over: corrupt batch at offset 0 (position 0): {TOLD}"
    ]
    knowledge = world.node.replicas.schemas
    assert isinstance(knowledge, SchemaKnowledge)
    assert knowledge.reader.table.by_id(7) is not None


@pytest.mark.parametrize("codec", PACKED)
def test_pushed_by_a_client_as_its_metrics(codec: Codec) -> None:
    world, client = subscribed()
    bound = world.node.settings["telemetry.max.bytes"]
    packed = compress(codec, bytes(20 * bound))
    with holds_at_most(4 * bound):
        assert push(client, asked(client), packed, codec) == ErrorCode.TELEMETRY_TOO_LARGE


# At whoever reads


def test_read_by_a_client(burst: bytes) -> None:
    with holds_at_most(TWICE), pytest.raises(CorruptBatch, match=f"at offset 0 .*: {TOLD}"):
        read_batches(burst, 0)


def test_a_heap_of_them_is_read_by_a_client() -> None:
    """Each fetch takes what it may hold, and the next one goes on behind it."""
    size, count = 8 * MEGABYTE, 40
    blob, position, seen = heap(count, size), 0, 0
    with holds_at_most(UNPACKED_BYTES_MAX + 5 * size):
        while position < count:
            records, position = read_batches(blob, position)
            seen += len(records)
            del records
    assert seen == count


def test_very_many_records_are_read_by_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "RECORDS_MAX", 1_000)
    count = 2 * batches.RECORDS_MAX + 1
    batch, position, found = build_batch([(None, None, (), NOW_MS)] * count, codec=Codec.ZSTD), 0, list[int]()
    while position < count:
        records, position = read_batches(batch, position)
        assert len(records) <= batches.RECORDS_MAX
        found += [record.offset for record in records]
    assert found == [*range(count)]


def test_looked_at_for_what_became_of_a_transaction(burst: bytes) -> None:
    (at, header) = next(iterate_headers(burst))
    with holds_at_most(TWICE), pytest.raises(CorruptBatch, match=TOLD):
        Found(burst, at, header).records()
