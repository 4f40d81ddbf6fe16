"""Batches of ours: what the cleaner keeps of one, and what it must never change."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.records import checksum
from penstock.core.records.batch import HEADER_BYTES, LENGTH_END, NO_TIMESTAMP, read_header
from penstock.core.records.build import BatchBuilder, build_batch, empty_batch, rebuild, recompress
from penstock.core.records.codecs import Codec
from penstock.core.records.record import iterate, read_body, spans_of
from penstock.core.records.validate import deep_check
from tests.records.oracles import KafkaBuilder
from tests.records.strategies import record_lists

codecs = st.sampled_from(list(Codec))
SAME_AFTER_COMPACTION = (
    "base_offset",
    "leader_epoch",
    "magic",
    "last_offset_delta",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "codec",
    "is_transactional",
    "is_control",
    "is_log_append_time",
)


@given(record_lists)
def test_the_same_bytes_as_an_independent_builder(records: list) -> None:
    builder = KafkaBuilder(
        magic=2,
        compression_type=0,
        is_transactional=1,
        producer_id=3,
        producer_epoch=4,
        base_sequence=5,
        batch_size=1 << 20,
    )
    for offset, (key, value, headers, timestamp) in enumerate(records):
        builder.append(offset=offset, timestamp=timestamp, key=key, value=value, headers=list(headers))
    ours = build_batch(records, producer_id=3, producer_epoch=4, base_sequence=5, transactional=True, leader_epoch=0)
    theirs = bytearray(builder.build())
    # They leave the leader epoch, which no checksum covers, at 0.
    assert ours[:LENGTH_END] == theirs[:LENGTH_END]
    assert ours[LENGTH_END + 4 :] == theirs[LENGTH_END + 4 :]


@given(record_lists)
def test_a_builder_knows_its_size(records: list) -> None:
    builder = BatchBuilder()
    for record in records:
        builder.append(*record)
    assert builder.size_bytes == len(builder.build())
    assert len(builder) == len(records)


@given(record_lists, codecs, st.data())
def test_rebuilding_keeps_what_is_kept_and_the_identity(records: list, codec: Codec, data: st.DataObject) -> None:
    batch = build_batch(
        records,
        base_offset=40,
        codec=codec,
        producer_id=3,
        producer_epoch=4,
        base_sequence=5,
        transactional=data.draw(st.booleans()),
        leader_epoch=6,
        log_append_time=data.draw(st.none() | st.just(777)),
    )
    keep = data.draw(st.lists(st.booleans(), min_size=len(records), max_size=len(records)))
    horizon = data.draw(st.none() | st.integers(0, 1 << 45))
    header = read_header(batch)
    body = read_body(batch, 0, header)
    kept = [span for span, wanted in zip(spans_of(header, body), keep, strict=True) if wanted]
    rebuilt = rebuild(header, body, kept, horizon)
    after = deep_check(rebuilt)
    assert list(iterate(rebuilt)) == [r for r, wanted in zip(iterate(batch), keep, strict=True) if wanted]
    assert [getattr(after, name) for name in SAME_AFTER_COMPACTION if name != "codec" or kept] == [
        getattr(header, name) for name in SAME_AFTER_COMPACTION if name != "codec" or kept
    ]
    assert after.count == sum(keep)
    if kept:
        assert after.delete_horizon == horizon
        assert header.is_log_append_time or after.max_timestamp == max(span.timestamp for span in kept)


@given(record_lists, st.integers(0, 1 << 45), st.none() | st.integers(0, 1 << 45))
def test_a_horizon_survives_the_next_cleaning(records: list, first: int, second: int | None) -> None:
    batch = build_batch(records, delete_horizon=first)
    header = read_header(batch)
    body = read_body(batch, 0, header)
    again = rebuild(header, body, list(spans_of(header, body)), second)
    assert read_header(again).delete_horizon == (first if second is None else second)
    assert list(iterate(again)) == list(iterate(batch))


def test_an_empty_batch_is_a_header_with_the_producers_sequence() -> None:
    batch = build_batch(
        [(b"k", b"v", (), 10), (b"l", b"w", (), 20)],
        base_offset=8,
        codec=Codec.LZ4,
        producer_id=3,
        producer_epoch=4,
        base_sequence=5,
        delete_horizon=99,
    )
    empty = empty_batch(read_header(batch))
    header = deep_check(empty)
    assert len(empty) == header.size == HEADER_BYTES
    assert (header.base_offset, header.last_offset, header.last_sequence, header.count) == (8, 9, 6, 0)
    assert (header.base_timestamp, header.max_timestamp) == (NO_TIMESTAMP, 20)
    assert header.codec == Codec.NONE
    assert not header.has_delete_horizon


@given(record_lists, codecs, codecs)
def test_recompression_changes_nothing_but_the_codec(records: list, before: Codec, after: Codec) -> None:
    batch = build_batch(records, codec=before, producer_id=1, producer_epoch=0, base_sequence=0)
    changed = recompress(b"xx" + batch, after, pos=2)
    header = read_header(changed)
    assert header.codec == after
    assert checksum.is_valid(changed, 0, header)
    assert list(iterate(changed)) == list(iterate(batch))
    assert header._replace(length=0, crc=0, attributes=0) == read_header(batch)._replace(length=0, crc=0, attributes=0)
