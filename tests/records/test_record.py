"""Records read as they were written, by us and by others; contradictions are named, never guessed around."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.records.batch import HEADER_BYTES, BatchHeader, read_header
from penstock.core.records.build import build_batch, encode_record, seal
from penstock.core.records.codecs import Codec
from penstock.core.records.errors import BodyTooLarge, CorruptBatch
from penstock.core.records.record import (
    Record,
    find_timestamp,
    iterate,
    keys_of,
    max_timestamp_record,
    read_body,
    spans_of,
)
from tests.records.oracles import AiokafkaBatch, AiokafkaBuilder, KafkaBatch, KafkaBuilder
from tests.records.strategies import fix_checksum, record_lists

codecs = st.sampled_from(list(Codec))
SAMPLE = [(b"key", b"value", (("h", b"x"), ("n", None)), 1000), (None, b"v" * 100, (), 1070), (b"", None, (), 900)]


def as_drawn(records: list[Record]) -> list[tuple[object, ...]]:
    return [(record.key, record.value, record.headers, record.timestamp) for record in records]


def sealed(body: bytes, count: int, **changes: int) -> bytearray:
    """A batch with a valid checksum whatever its body says."""
    header = read_header(build_batch(SAMPLE, base_offset=50))
    return seal(header._replace(count=count, **changes), body)


@given(record_lists, codecs, st.integers(0, 1 << 50))
def test_round_trip(records: list, codec: Codec, base_offset: int) -> None:
    batch = build_batch(records, base_offset=base_offset, codec=codec)
    read = list(iterate(b"before" + batch + b"behind", 6))
    assert as_drawn(read) == records
    assert [record.offset for record in read] == list(range(base_offset, base_offset + len(records)))


@given(record_lists, codecs)
def test_others_read_ours(records: list, codec: Codec) -> None:
    batch = bytes(build_batch(records, codec=codec))
    for other in (KafkaBatch(batch), AiokafkaBatch(batch)):
        assert other.validate_crc()
        assert [(r.key, r.value, tuple(r.headers), r.timestamp, r.offset) for r in other] == [
            (*record, offset) for offset, record in enumerate(records)
        ]


@pytest.mark.parametrize("builder_type", [KafkaBuilder, AiokafkaBuilder])
@given(record_lists, codecs)
def test_we_read_theirs(builder_type: type, records: list, codec: Codec) -> None:
    builder = builder_type(
        magic=2,
        compression_type=codec.value,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    # One of them takes a first timestamp of -1 for none yet, and goes on from the next.
    records = [(key, value, headers, max(timestamp, 0)) for key, value, headers, timestamp in records]
    for offset, (key, value, headers, timestamp) in enumerate(records):
        builder.append(offset=offset, timestamp=timestamp, key=key, value=value, headers=list(headers))
    assert as_drawn(list(iterate(bytes(builder.build())))) == records


@given(record_lists, codecs)
def test_spans_say_the_same_as_records(records: list, codec: Codec) -> None:
    batch = build_batch(records, base_offset=9, codec=codec)
    header = read_header(batch)
    body = read_body(batch, 0, header)
    spans, read = list(keys_of(batch)), list(iterate(batch))
    assert [(9 + span.offset_delta, span.key, span.timestamp) for span in spans] == [
        (record.offset, record.key, record.timestamp) for record in read
    ]
    assert [span.has_value for span in spans] == [record.value is not None for record in read]
    assert b"".join(body[span.start : span.end] for span in spans) == body


@given(record_lists, st.integers(-1, 1 << 45))
def test_timestamp_searches(records: list, target: int) -> None:
    batch = build_batch(records, base_offset=100)
    stamped = [(record[3], 100 + index) for index, record in enumerate(records)]
    assert find_timestamp(batch, target) == next((pair for pair in stamped if pair[0] >= target), None)
    assert max_timestamp_record(batch) == max(stamped, key=lambda pair: pair[0])


def test_log_append_time_answers_every_search() -> None:
    batch = build_batch(SAMPLE, log_append_time=5000)
    assert [record.timestamp for record in iterate(batch)] == [5000] * 3
    assert find_timestamp(batch, 5000) == (5000, 0)
    assert find_timestamp(batch, 5001) is None
    assert max_timestamp_record(batch) == (5000, 0)


def test_an_empty_batch_has_no_records() -> None:
    batch = sealed(b"", 0)
    assert list(iterate(batch)) == []
    assert list(keys_of(batch)) == []
    assert max_timestamp_record(batch) is None


def test_gaps_are_fine_and_the_last_offset_may_be_missing() -> None:
    body = encode_record(3, 0, b"a", b"") + encode_record(4, 0, b"b", b"") + encode_record(90, 0, b"c", b"")
    batch = sealed(body, 3, last_offset_delta=100)
    assert [record.offset for record in iterate(batch)] == [53, 54, 140]
    assert [span.offset_delta for span in keys_of(batch)] == [3, 4, 90]


def test_a_header_key_that_is_not_text() -> None:
    name = encode_record(0, 0, None, None, [("ab", b"")]).replace(b"ab", b"\xff\xfe")
    assert next(iterate(sealed(name, 1))).headers == (("��", b""),)


RECORD = encode_record(0, 0, b"k", b"v")
CONTRADICTIONS = {
    "fewer records than declared": (RECORD, 2, {}),
    "more records than declared": (RECORD + encode_record(1, 0, b"k", b"v"), 1, {}),
    "bytes behind an empty batch": (b"\x00", 0, {}),
    "an offset delta beyond the last": (encode_record(3, 0, b"k", b"v"), 1, {}),
    "a dense run over the last": (encode_record(2, 0, b"", b"") + encode_record(3, 0, b"", b""), 2, {}),
    "a repeated offset": (RECORD + RECORD, 2, {}),
    "a falling offset": (encode_record(1, 0, b"", b"") + RECORD, 2, {}),
    "a negative offset delta": (encode_record(-1, 0, b"", b""), 1, {}),
    "more records than offsets": (RECORD, 9, {}),
    "a dense run that began at the first": (b"".join(encode_record(i, 0, b"", b"") for i in range(4)), 4, {}),
    "a record of negative size": (b"\x03" + RECORD[1:], 1, {}),
    "a record whose size has the wrong sign": (bytes([RECORD[0] | 1]) + RECORD[1:], 1, {}),
    "a record without a number of headers": (bytes([RECORD[0] - 2]) + RECORD[1:-1], 1, {}),
    "a record larger than the body": (b"\x7e" + RECORD[1:], 1, {}),
    "a record smaller than its fields": (b"\x0c" + RECORD[1:], 1, {}),
    "a key of -2 bytes": (RECORD[:4] + b"\x03" + RECORD[5:], 1, {}),
    "a value of -2 bytes": (RECORD[:6] + b"\x03" + RECORD[7:], 1, {}),
    "a value of 2 GB": (RECORD[:6] + b"\xfe\xff\xff\xff\x0f" + RECORD[7:], 1, {}),
    "a timestamp beyond 64 bits": (encode_record(0, (1 << 63) - 1, b"", b""), 1, {"base_timestamp": 9}),
    "an absurd base timestamp": (RECORD, 1, {"base_timestamp": (1 << 63) - 1}),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_named_by_both_readers(name: str) -> None:
    body, count, changes = CONTRADICTIONS[name]
    batch = sealed(body, count, **changes)
    for reader in (iterate, keys_of):
        with pytest.raises(CorruptBatch, match=r"at offset 5[0-9]"):
            list(reader(batch))


def test_nothing_is_given_of_a_record_larger_than_the_body() -> None:
    for reader in (iterate, keys_of):
        with pytest.raises(CorruptBatch):
            next(reader(sealed(b"\x7e" + RECORD[1:], 1)))


HEADER_CONTRADICTIONS = {
    "a byte behind no headers": RECORD[1:] + b"\x00",
    "a negative number of headers": RECORD[1:-1] + b"\x01",
    "headers that are missing": RECORD[1:-1] + b"\x02",
    "two billion headers": RECORD[1:-1] + b"\xfe\xff\xff\xff\x0f",
    "a header key of negative size": RECORD[1:-1] + b"\x02\x01\x01",
    "a header value of -2 bytes": RECORD[1:-1] + b"\x02\x02a\x03",
    "a header value that ends too early": RECORD[1:-1] + b"\x02\x02a\x08b",
}


@pytest.mark.parametrize("name", HEADER_CONTRADICTIONS)
def test_contradictions_within_headers(name: str) -> None:
    record = HEADER_CONTRADICTIONS[name]
    with pytest.raises(CorruptBatch, match="at offset 50"):
        list(iterate(sealed(bytes([2 * len(record)]) + record, 1)))


def test_a_header_value_that_reaches_past_the_record() -> None:
    """The size fits the fields, and both reach past the end of the body."""
    record = RECORD[1:-1] + b"\x02\x02a\x08b"
    with pytest.raises(CorruptBatch, match="too early"):
        list(iterate(sealed(bytes([2 * (len(record) + 3)]) + record, 1)))


@pytest.mark.parametrize("codec", list(Codec))
def test_every_changed_byte_is_found_or_harmless(codec: Codec) -> None:
    """The checksum is made to fit, so that only the readers' own checks are left."""
    original = build_batch(SAMPLE, codec=codec)
    for position in range(HEADER_BYTES, len(original)):
        for change in (0x01, 0x02, 0x40, 0x80, 0xFF):
            batch = bytearray(original)
            batch[position] ^= change
            fix_checksum(batch)
            for reader in (iterate, keys_of):
                with suppress(CorruptBatch):
                    assert len(list(reader(batch))) == len(SAMPLE)


@given(st.data())
def test_changed_headers_are_found_or_harmless(data: st.DataObject) -> None:
    batch = build_batch(SAMPLE, codec=data.draw(codecs))
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(8, HEADER_BYTES - 1))] = data.draw(st.integers(0, 255))
    for reader in (iterate, keys_of):
        with suppress(CorruptBatch):
            list(reader(batch))


@given(st.binary(max_size=60), st.integers(0, 5))
def test_random_bodies(body: bytes, count: int) -> None:
    for reader in (iterate, keys_of):
        with suppress(CorruptBatch):
            assert len(list(reader(sealed(body, count, last_offset_delta=10)))) == count


@given(st.data())
def test_the_two_readers_agree_on_what_is_broken(data: st.DataObject) -> None:
    """They differ only in headers, of which these records have none."""
    body = bytearray(encode_record(0, 0, b"key", b"value") + encode_record(1, 70, None, b"w" * 70))
    for _ in range(data.draw(st.integers(1, 2))):
        body[data.draw(st.integers(0, len(body) - 2))] = data.draw(st.integers(0, 255))
    batch = sealed(bytes(body), 2)
    try:
        records: list[Record] | None = list(iterate(batch))
    except CorruptBatch:
        records = None
    if records is not None:
        assert [(span.key, span.timestamp) for span in keys_of(batch)] == [(r.key, r.timestamp) for r in records]


def test_a_cut_batch_and_a_bomb_name_the_batch() -> None:
    batch = build_batch(SAMPLE, base_offset=7)
    with pytest.raises(CorruptBatch, match="at offset 7"):
        iterate(batch[:-1])
    bomb = build_batch([(None, bytes(1_000_000), (), 0)], base_offset=8, codec=Codec.ZSTD)
    with pytest.raises(BodyTooLarge, match="at offset 8"):
        iterate(bomb, 0, 500_000)


def test_count_is_bounded_by_the_body() -> None:
    header: BatchHeader = read_header(sealed(RECORD, 1))._replace(count=(1 << 31) - 1, last_offset_delta=(1 << 31) - 2)
    with pytest.raises(CorruptBatch):
        list(spans_of(header, RECORD))
