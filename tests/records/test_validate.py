"""What a leader refuses, with which code, held against a slow twin that follows Kafka's checks one by one."""

from struct import pack_into, unpack_from

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch, encode_record, seal
from penstock.core.records.codecs import Codec
from penstock.core.records.errors import CorruptBatch, RecordError
from penstock.core.records.examine import Question, Refusal, examine_all
from penstock.core.records.record import iterate
from penstock.core.records.validate import NeedsReading, Rules, check_produced, deep_check
from tests.records.strategies import fix_checksum

NOW = 1_700_000_000_000
HOUR = 3_600_000
RULES = Rules(max_message_bytes=10_000, after_max_ms=HOUR)
RECORDS = [(b"k1", b"v1", (), NOW - 5), (b"k2", b"v2", (), NOW), (b"k3", None, (), NOW - 9)]


def code_of(batch: bytes | bytearray, rules: Rules = RULES, version: int = 9) -> ErrorCode:
    try:
        taken(batch, rules, version)
    except RecordError as refusal:
        return refusal.code
    return ErrorCode.NONE


def taken(batch: bytes | bytearray, rules: Rules = RULES, version: int = 9) -> bytes:
    """A batch as it is stored: by its header, or, where that does not suffice, once it was read."""
    try:
        header = check_produced(memoryview(batch), rules, version, NOW)
    except NeedsReading as question:
        header = question.header
    else:
        if not rules.recompresses(header):
            return bytes(batch)
    (found,) = examine_all(None, [Question(bytes(batch), rules, NOW)])
    if isinstance(found, Refusal):
        raise RecordError(*found)
    return bytes(batch) if found is None else bytes(found)


def changed(position: int, data: bytes, **options: object) -> bytearray:
    batch = build_batch(RECORDS, **options)
    batch[position : position + len(data)] = data
    return fix_checksum(batch)


def test_a_good_batch_gives_its_header() -> None:
    batch = build_batch(RECORDS, producer_id=1, producer_epoch=0, base_sequence=0)
    assert check_produced(memoryview(batch), RULES, 9, NOW) == read_header(batch)


GOOD = build_batch(RECORDS)
REFUSED = {
    "nothing": (b"", ErrorCode.INVALID_RECORD),
    "less than a length": (GOOD[:11], ErrorCode.INVALID_RECORD),
    "less than a header": (GOOD[:60], ErrorCode.INVALID_RECORD),
    "less than a batch": (GOOD[:-1], ErrorCode.INVALID_RECORD),
    "a tiny length in a short buffer": (GOOD[:8] + b"\x00\x00\x00\x0d" + GOOD[12:30], ErrorCode.CORRUPT_MESSAGE),
    "an unknown magic in a short buffer": (GOOD[:16] + b"\x03" + GOOD[17:30], ErrorCode.CORRUPT_MESSAGE),
    "a tiny length": (GOOD[:8] + b"\x00\x00\x00\x0d" + GOOD[12:], ErrorCode.CORRUPT_MESSAGE),
    "a length shorter than the header": (GOOD[:8] + b"\x00\x00\x00\x20" + GOOD[12:], ErrorCode.CORRUPT_MESSAGE),
    "a negative length": (GOOD[:8] + b"\xff\xff\xff\xff" + GOOD[12:], ErrorCode.CORRUPT_MESSAGE),
    "magic 0": (GOOD[:16] + b"\x00" + GOOD[17:], ErrorCode.INVALID_RECORD),
    "magic 1": (GOOD[:16] + b"\x01" + GOOD[17:], ErrorCode.INVALID_RECORD),
    "magic 3": (GOOD[:16] + b"\x03" + GOOD[17:], ErrorCode.CORRUPT_MESSAGE),
    "two batches": (GOOD + GOOD, ErrorCode.INVALID_RECORD),
    "bytes behind the batch": (GOOD + b"\x00", ErrorCode.INVALID_RECORD),
    "a wrong checksum": (GOOD[:-1] + b"\x01", ErrorCode.CORRUPT_MESSAGE),
    "a base offset": (build_batch(RECORDS, base_offset=1), ErrorCode.INVALID_RECORD),
    "too many bytes": (build_batch([(None, bytes(10_000), (), NOW)]), ErrorCode.MESSAGE_TOO_LARGE),
    "no records": (seal(read_header(GOOD)._replace(count=0, last_offset_delta=-1), b""), ErrorCode.INVALID_RECORD),
    "a count that differs": (changed(57, b"\x00\x00\x00\x02"), ErrorCode.INVALID_RECORD),
    "a last offset that differs": (changed(23, b"\x00\x00\x00\x03"), ErrorCode.INVALID_RECORD),
    "a control batch": (build_batch(RECORDS, control=True), ErrorCode.INVALID_RECORD),
    "a producer without a sequence": (build_batch(RECORDS, producer_id=1), ErrorCode.INVALID_RECORD),
    "a transaction without a producer": (build_batch(RECORDS, transactional=True), ErrorCode.INVALID_RECORD),
    "log append time": (build_batch(RECORDS, log_append_time=NOW), ErrorCode.INVALID_TIMESTAMP),
    "an unknown codec": (changed(22, b"\x05"), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    "a time far ahead": (build_batch([(b"k", b"v", (), NOW + HOUR + 1)]), ErrorCode.INVALID_TIMESTAMP),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    batch, code = REFUSED[name]
    assert code_of(batch) is code


@pytest.mark.parametrize("codec", list(Codec))
def test_codecs_and_the_version_that_brought_zstd(codec: Codec) -> None:
    batch = build_batch(RECORDS, codec=codec)
    assert code_of(batch, version=7) is ErrorCode.NONE
    too_new = codec is Codec.ZSTD
    assert code_of(batch, version=6) is (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE if too_new else ErrorCode.NONE)


def test_the_largest_batch_and_the_latest_time_are_fine() -> None:
    batch = build_batch([(b"k", b"v", (), NOW + HOUR)])
    assert code_of(batch, Rules(max_message_bytes=len(batch), after_max_ms=HOUR)) is ErrorCode.NONE
    assert code_of(batch, Rules(max_message_bytes=len(batch) - 1, after_max_ms=HOUR)) is ErrorCode.MESSAGE_TOO_LARGE


def test_records_at_fault_are_listed() -> None:
    records = [(None, b"v", (), NOW), (b"k", b"v", (), NOW + HOUR + 1), (None, b"v", (), NOW), (b"k", b"v", (), -1)]
    rules = Rules(max_message_bytes=10_000, after_max_ms=HOUR, compacted=True)
    with pytest.raises(RecordError) as caught:
        taken(build_batch(records), rules)
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in caught.value.record_errors] == [0, 1, 2]
    with pytest.raises(RecordError) as caught:
        taken(build_batch([*records[2:], (None, b"", (), NOW)]), rules)
    assert caught.value.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in caught.value.record_errors] == [0, 2]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_compacted_topic_wants_keys(codec: Codec) -> None:
    rules = Rules(max_message_bytes=10_000, compacted=True)
    assert code_of(build_batch(RECORDS, codec=codec), rules) is ErrorCode.NONE
    assert code_of(build_batch([*RECORDS, (None, b"v", (), NOW)], codec=codec), rules) is ErrorCode.INVALID_RECORD


def test_old_records_hide_behind_a_young_one() -> None:
    rules = Rules(max_message_bytes=10_000, before_max_ms=HOUR)
    assert code_of(build_batch([(None, b"v", (), NOW), (None, b"v", (), NOW - HOUR)]), rules) is ErrorCode.NONE
    assert code_of(build_batch([(None, b"v", (), -1)]), rules) is ErrorCode.NONE
    hidden = build_batch([(None, b"v", (), NOW), (None, b"v", (), NOW - HOUR - 1)])
    assert code_of(hidden, rules) is ErrorCode.INVALID_TIMESTAMP


def test_a_topic_that_sets_the_time_ignores_the_producers() -> None:
    rules = Rules(max_message_bytes=10_000, log_append_time=True, before_max_ms=1, after_max_ms=1)
    assert not rules.reads_records
    assert code_of(build_batch([(None, b"v", (), 5)]), rules) is ErrorCode.NONE
    assert code_of(build_batch([(None, b"v", (), 2 * NOW)]), rules) is ErrorCode.NONE


def test_a_body_that_must_be_read_and_cannot_be() -> None:
    batch = seal(read_header(GOOD), b"junk" * 10)
    assert code_of(batch) is ErrorCode.NONE
    assert code_of(batch, Rules(max_message_bytes=10_000, compacted=True)) is ErrorCode.INVALID_RECORD


def naive_code(batch: bytes, rules: Rules, version: int) -> ErrorCode:
    """Kafka's order of checks for a complete buffer of at least a header, field by field."""
    length, magic = unpack_from(">i", batch, 8)[0], unpack_from(">b", batch, 16)[0]
    attributes, producer_id = unpack_from(">h", batch, 21)[0], unpack_from(">q", batch, 43)[0]
    if length < 14 or magic not in (0, 1, 2):
        return ErrorCode.CORRUPT_MESSAGE
    if length + 12 > len(batch) or magic != 2:
        return ErrorCode.INVALID_RECORD
    if length + 12 < 61:
        return ErrorCode.CORRUPT_MESSAGE
    if attributes % 8 == 4 and version < 7:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    if length + 12 < len(batch) or unpack_from(">q", batch, 0)[0]:
        return ErrorCode.INVALID_RECORD
    if len(batch) > rules.max_message_bytes:
        return ErrorCode.MESSAGE_TOO_LARGE
    if crc32c(batch[21:]) != unpack_from(">I", batch, 17)[0]:
        return ErrorCode.CORRUPT_MESSAGE
    if attributes % 8 > 4:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    return naive_batch_code(batch, rules, attributes, producer_id)


def naive_batch_code(batch: bytes, rules: Rules, attributes: int, producer_id: int) -> ErrorCode:
    last_delta, count = unpack_from(">i", batch, 23)[0], unpack_from(">i", batch, 57)[0]
    if last_delta < 0 or count != last_delta + 1 or attributes & 0x20:
        return ErrorCode.INVALID_RECORD
    if producer_id >= 0 and unpack_from(">i", batch, 53)[0] < 0:
        return ErrorCode.INVALID_RECORD
    if producer_id < 0 and attributes & 0x10:
        return ErrorCode.INVALID_RECORD
    base_time, max_time = unpack_from(">qq", batch, 27)
    if attributes & 0x08 or not max(map(abs, (base_time, max_time))) <= 1 << 62:
        return ErrorCode.INVALID_TIMESTAMP
    if count * 7 > (len(batch) - 61) * (1, 1032, 22, 256, 1 << 15)[attributes % 8]:
        return ErrorCode.INVALID_RECORD
    if count > rules.records_max or (attributes % 8 and count * 7 > rules.unpacked_bytes_max):
        return ErrorCode.MESSAGE_TOO_LARGE
    is_honest = rules.log_append_time or (-1 <= base_time <= max_time <= NOW + rules.after_max_ms)
    if is_honest and not (rules.compacted or rules.validates or rules.before_max_ms < 1 << 60):
        return ErrorCode.NONE
    try:
        records = list(iterate(batch))
    except CorruptBatch:
        return ErrorCode.INVALID_RECORD
    keyed = [record for record in records if record.key is not None or not rules.compacted]
    early, late = NOW - rules.before_max_ms, NOW + rules.after_max_ms
    has_times = not rules.log_append_time
    if has_times and any(record.timestamp != -1 and not early <= record.timestamp <= late for record in keyed):
        return ErrorCode.INVALID_TIMESTAMP
    return ErrorCode.NONE if len(keyed) == len(records) else ErrorCode.INVALID_RECORD


FIELDS = {0: ">q", 8: ">i", 16: ">b", 21: ">h", 23: ">i", 27: ">q", 35: ">q", 43: ">q", 53: ">i", 57: ">i"}
RANGES = {">b": (1 << 7), ">h": (1 << 15), ">i": (1 << 31), ">q": (1 << 63)}
all_rules = st.builds(
    Rules,
    max_message_bytes=st.sampled_from([100, 10_000]),
    log_append_time=st.booleans(),
    before_max_ms=st.sampled_from([HOUR, (1 << 63) - 1]),
    after_max_ms=st.sampled_from([HOUR, (1 << 63) - 1]),
    compacted=st.booleans(),
    validates=st.booleans(),
    records_max=st.sampled_from([2, 1_000_000]),
)
some_records = st.lists(
    st.tuples(
        st.sampled_from([b"k", b"k", None]),
        st.binary(max_size=30),
        st.just(()),
        st.sampled_from([NOW, NOW - 5, -1, NOW - HOUR - 1, NOW + HOUR + 1]),
    ),
    min_size=1,
    max_size=4,
)


@given(some_records, all_rules, st.sampled_from([6, 9]), st.booleans(), st.booleans(), st.data())
def test_the_fast_check_agrees_with_its_slow_twin(
    records: list, rules: Rules, version: int, idempotent: bool, fix: bool, data: st.DataObject
) -> None:
    producer = (1, 0, 0) if idempotent else (-1, -1, -1)
    batch = build_batch(
        records,
        codec=data.draw(st.sampled_from(list(Codec))),
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        transactional=data.draw(st.booleans()),
    )
    for position in data.draw(st.lists(st.sampled_from(list(FIELDS)), max_size=2, unique=True)):
        kind = FIELDS[position]
        near = unpack_from(kind, batch, position)[0]
        low, high = -RANGES[kind], RANGES[kind] - 1
        value = data.draw(st.integers(max(low, near - 2), min(high, near + 2)) | st.integers(low, high))
        pack_into(kind, batch, position, value)
    if fix:
        fix_checksum(batch)
    assert code_of(batch, rules, version) is naive_code(bytes(batch), rules, version)


def test_another_codec() -> None:
    batch = build_batch(RECORDS, codec=Codec.GZIP)
    rules = Rules(max_message_bytes=10_000, codec=Codec.ZSTD, level=1)
    result = taken(batch, rules)
    assert deep_check(result).codec == Codec.ZSTD
    assert list(iterate(result)) == list(iterate(batch))
    assert taken(batch, Rules(max_message_bytes=10_000, codec=Codec.GZIP)) == batch


def test_recompression_may_break_the_size_limit_or_find_a_broken_body() -> None:
    batch = build_batch([(b"k", bytes(5000), (), NOW)], codec=Codec.ZSTD)
    assert code_of(batch, Rules(max_message_bytes=1000)) is ErrorCode.NONE
    assert code_of(batch, Rules(max_message_bytes=1000, codec=Codec.NONE)) is ErrorCode.MESSAGE_TOO_LARGE
    broken = changed(61, b"\x00\x00", codec=Codec.ZSTD)
    assert code_of(broken, Rules(max_message_bytes=1000, codec=Codec.NONE)) is ErrorCode.INVALID_RECORD


def test_deep_check() -> None:
    row = b"x" + build_batch(RECORDS)
    assert deep_check(row, 1) == read_header(row, 1)
    with pytest.raises(CorruptBatch, match="checksum"):
        deep_check(row[:-1] + b"\x02", 1)
    with pytest.raises(CorruptBatch, match="headers"):
        deep_check(seal(read_header(GOOD)._replace(count=1), encode_record(0, 0, b"", b"")[:-1] + b"\x01"))
