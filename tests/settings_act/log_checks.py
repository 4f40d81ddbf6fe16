"""What topic settings, and the broker settings that are their defaults, do to a log."""

from __future__ import annotations

from random import Random

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Done, FileOp, RunJob
from penstock.core.records.batch import HEADER_BYTES, read_header
from penstock.core.records.build import seal
from penstock.core.records.codecs import Codec, compress, decompress
from penstock.core.wire.api.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.settings_act.asking import append, files, headers, pairs, produce_request, stored, words
from tests.settings_act.trial import Machine, Trial

HOUR_MS = 3_600_000
EACH_ITS_SEGMENT = {"internal.segment.bytes": "1"}
COMPACTED = {**EACH_ITS_SEGMENT, "cleanup.policy": "compact"}

# Segments and indexes


def segments_after(trial: Trial, wait_ms: int) -> int:
    world = trial.begin(topic={})
    append(world, "a=1")
    world.jump(wait_ms)
    append(world, "b=1")
    return len(files(world, ".log"))


def segments_with_jitter(trial: Trial, segment_ms: int, wait_ms: int) -> int:
    """The name of this segment takes some 40 % of a jitter of 9 s, and 15 % of one of 99 h, off its age."""
    world = trial.begin(topic={"segment.ms": str(segment_ms)})
    append(world, "a=1")
    world.jump(wait_ms)
    append(world, "b=1")
    return len(files(world, ".log"))


def segments_of_large_batches(trial: Trial) -> int:
    world = trial.begin(topic={})
    for _ in range(3):
        assert append(world, "a=" + "x" * 600_000) == ErrorCode.NONE
    return len(files(world, ".log"))


def segments_of_small_batches(trial: Trial) -> int:
    world = trial.begin(topic={})
    for _ in range(3):
        append(world, "a=1")
    return len(files(world, ".log"))


def segments_with_dense_indexes(trial: Trial) -> int:
    world = trial.begin(topic={"index.interval.bytes": "0"})
    for _ in range(7):
        append(world, "a=1")
    return len(files(world, ".log"))


def index_bytes(trial: Trial) -> int:
    world = trial.begin(topic={})
    for _ in range(3):
        append(world, "a=1")
    world.stop()
    (path,) = files(world, "0.index")
    return len(world.files.content(path))


# Retention


def kept_after(trial: Trial, wait_ms: int) -> list[str]:
    world = trial.begin(topic=EACH_ITS_SEGMENT)
    append(world, "a=1")
    world.jump(wait_ms)
    return words_left(world)


def words_left(world: Machine) -> list[str]:
    """What has not been set aside."""
    assert not files(world, ".cleaned")
    return words(world)


def kept_by_size(trial: Trial) -> list[str]:
    world = trial.begin(topic=EACH_ITS_SEGMENT)
    for word in ("a=1", "b=1", "c=1"):
        append(world, word)
    world.jump(300_000)
    return words_left(world)


def kept_when_looked_after(trial: Trial) -> list[str]:
    world = trial.begin(topic={"retention.ms": "1000"})
    append(world, "a=1")
    world.jump(20_000)
    return words_left(world)


def is_set_aside(trial: Trial) -> bool:
    """Whether the files of a removed segment are still there ten seconds later."""
    world = trial.begin(topic={"retention.ms": "1000"})
    append(world, "a=1")
    world.jump(300_000)
    assert files(world, ".deleted")
    world.jump(10_000)
    return bool(files(world, ".deleted"))


# Compaction


def compacted(world: Machine) -> list[str]:
    """One key in two segments, another one in the active segment, and time for the cleaner to come by."""
    for word in ("k=1", "k=2", "x=1"):
        append(world, word)
    world.jump(20_000)
    return words_left(world)


def after_compaction(trial: Trial) -> list[str]:
    return compacted(trial.begin(topic=COMPACTED))


def after_overdue_compaction(trial: Trial) -> list[str]:
    """No log is ever dirty enough here."""
    return compacted(trial.begin(topic={**COMPACTED, "min.cleanable.dirty.ratio": "1"}))


def after_whatever_the_policy_does(trial: Trial) -> list[str]:
    world = trial.begin(topic={**EACH_ITS_SEGMENT, "retention.ms": "1000"})
    for word in ("k=1", "k=2", "x=1"):
        append(world, word)
    world.jump(300_000)
    return words_left(world)


def after_a_short_rest(trial: Trial) -> list[str]:
    """The rest that was begun before a change is not cut short: only the one after it counts."""
    world = trial.begin(topic=COMPACTED)
    world.jump(15_000)
    for word in ("k=1", "k=2", "x=1"):
        append(world, word)
    world.jump(5_000)
    return words_left(world)


def has_mark_of_deletion(trial: Trial) -> bool:
    """The first round gives the mark its time, the second one takes it away if that is over."""
    world = trial.begin(topic={**COMPACTED, "min.cleanable.dirty.ratio": "0"})
    for word in ("k=1", "k=", "x=1"):
        append(world, word)
    world.jump(20_000)
    append(world, "y=1")
    world.jump(20_000)
    return "k=" in words_left(world)


def records_after_one_round(trial: Trial) -> int:
    """The same 9,000 keys in two segments: one round needs room for all of them to let the older ones go."""
    world = trial.begin(topic=COMPACTED)
    for value in "12":
        append(world, *(f"{key}={value}" for key in range(9000)))
    append(world, "x=1")
    world.jump(20_000)
    return len(stored(world))


# Safety


def survives_power_loss(trial: Trial) -> bool:
    world = trial.begin(topic={})
    append(world, "a=1", "b=1")
    world.pass_time(2_000)
    (path,) = files(world, ".log")
    return len(world.disk.names[path].synced) > 0


def has_recovery_points(trial: Trial) -> bool:
    world = trial.begin(topic={})
    append(world, "a=1")
    world.jump(10_000)
    return "/data/recovery-point-offset-checkpoint" in world.files.paths()


def has_start_offsets(trial: Trial) -> bool:
    world = trial.begin(topic={})
    append(world, "a=1", "b=1")
    topic = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
    world.client().ask(DeleteRecordsRequest(topics=[topic], timeout_ms=1000))
    world.jump(10_000)
    return "/data/log-start-offset-checkpoint" in world.files.paths()


# Records


def error_of_large_batch(trial: Trial) -> int:
    return append(trial.begin(topic={}), "a=" + "x" * 2000)


def error_of_one_ack(trial: Trial) -> int:
    world = trial.begin(topic={})
    assert append(world, "a=1") == ErrorCode.NONE
    return append(world, "a=1", acks=1)


def error_of_time(trial: Trial, late_ms: int) -> int:
    return append(trial.begin(topic={}), "a=1", late_ms=late_ms)


def has_time_of_append(trial: Trial) -> bool:
    world = trial.begin(topic={})
    append(world, "a=1", late_ms=60_000)
    return headers(world)[0].max_timestamp == world.now_ms


def stored_codec(trial: Trial) -> Codec:
    world = trial.begin(topic={})
    append(world, "a=1")
    return Codec(headers(world)[0].codec)


def codecs_after_sealing(trial: Trial) -> list[Codec]:
    """A batch in a sealed segment, one in the active segment, and time for the packer to come by."""
    world = trial.begin(topic=EACH_ITS_SEGMENT)
    for _ in range(2):
        append(world, "a=" + "x" * 1000)
    world.jump(20_000)
    return [Codec(header.codec) for header in headers(world)]


def stored_level(trial: Trial, codec: Codec, levels: tuple[int, int]) -> list[int]:
    """Which of two levels gives the very bytes that were stored."""
    world = trial.begin(topic={"compression.type": codec.name.lower()})
    chance = Random(1)
    append(world, "a=" + "".join(chance.choice(("red ", "green ", "blue ", "grey ")) for _ in range(5000)))
    (path,) = files(world, ".log")
    packed = world.files.content(path)[HEADER_BYTES:]
    body = decompress(codec, packed)
    return [level for level in levels if compress(codec, body, level) == packed]


# Producers


def error_after_another_producer(trial: Trial) -> int:
    """What a producer hears that leaves sequences out once another one has come: nothing where it is forgotten."""
    world = trial.begin(topic={})
    for producer_id, sequence in ((7, 0), (8, 0), (7, 5)):
        code = append(world, "a=1", producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
    return code


def error_of_lie(trial: Trial) -> int:
    """Of a batch whose records are none, though its header is right."""
    world = trial.begin(topic={})
    request = produce_request(pairs("a=1"), world.now_ms)
    (topic,) = request.topic_data
    (data,) = topic.partition_data
    data.records = bytes(seal(read_header(data.records), b"no records"))
    answer = world.client().ask(request, 9)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def error_of_two_records(trial: Trial) -> int:
    return append(trial.begin(topic={}), "a=1", "b=2")


def error_of_inflating(trial: Trial) -> int:
    world = trial.begin(topic={"cleanup.policy": "compact"})
    return append(world, "a=" + "x" * 2000, codec=Codec.GZIP)


def is_read_elsewhere(trial: Trial) -> bool:
    world = trial.begin(topic={"cleanup.policy": "compact"})
    jobs, perform = [], world.files.perform

    def watching(op: FileOp, done: Done) -> object:
        if isinstance(op, RunJob):
            jobs.append(op)
        return perform(op, done)

    world.files.perform = watching  # type: ignore[method-assign]  # to see what is asked
    assert append(world, "a=1") == ErrorCode.NONE
    return bool(jobs)


def error_of_second_in_line(trial: Trial) -> int:
    """What a producer hears while another one's batch is being read."""
    world = trial.begin(topic={"cleanup.policy": "compact"})
    first, second = world.client("10.0.0.1"), world.client("10.0.0.2")
    world.hold()
    for client in (first, second):
        client.send(produce_request(pairs("a=" + "x" * 600_000), world.now_ms), 9)
    world.release()
    (answer,) = second.replies()
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def error_of_gap(trial: Trial, wait_ms: int, expiration_ms: int | None = None) -> int:
    """A producer that is forgotten may go on anywhere; one that is known may not leave sequences out."""
    others = {} if expiration_ms is None else {"producer.id.expiration.ms": str(expiration_ms)}
    world = trial.begin(others, topic={})
    for sequence in (0, 5):
        request = produce_request(pairs("a=1"), world.now_ms, producer_id=7, producer_epoch=0, base_sequence=sequence)
        answer = world.client().ask(request, 9)
        world.jump(wait_ms)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code
