"""What becomes of produced batches whose records are read: whatever is in them, a finding for each and no exception."""

from __future__ import annotations

from struct import pack_into
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Buffer
from penstock.core.records.batch import ATTRIBUTES_AT, HEADER_BYTES, read_header
from penstock.core.records.build import build_batch, seal
from penstock.core.records.codecs import RATIO_MAX, Codec, compress
from penstock.core.records.errors import CorruptBatch, RecordError
from penstock.core.records.examine import Finding, Question, Refusal, examine_all
from penstock.core.records.record import iterate
from penstock.core.records.validate import NeedsReading, Rules, check_produced, deep_check
from tests.examples import examples
from tests.records.strategies import fix_checksum, record_lists

PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
NOW_MS = 1_700_000_000_000
VERSION = 9
MIB = 1 << 20


def rules(**more: Any) -> Rules:
    return Rules(max_message_bytes=MIB, **{"validates": True} | more)


def found(batch: Buffer, its_rules: Rules | None = None) -> Finding:
    (finding,) = examine_all(None, [Question(batch, its_rules or rules(), NOW_MS)])  # type: ignore[arg-type]  # it touches no files
    return finding


def code_of(batch: Buffer, its_rules: Rules | None = None) -> ErrorCode:
    finding = found(batch, its_rules)
    return finding.code if isinstance(finding, Refusal) else ErrorCode.NONE


def bare(records: list[Any]) -> bytes:
    return bytes(build_batch(records)[HEADER_BYTES:])


def wrapped(records: list[Any], codec: Codec, packed: Buffer) -> bytearray:
    """A batch that says these records are in it, and has what is said to be their packed form."""
    batch = seal(read_header(build_batch(records)), bytes(packed))
    pack_into(">h", batch, ATTRIBUTES_AT, codec)
    return fix_checksum(batch)


@pytest.mark.parametrize("codec", PACKED)
@given(records=record_lists, data=st.data())
@examples(15)
def test_a_stream_that_is_cut_anywhere(codec: Codec, records: list[Any], data: st.DataObject) -> None:
    whole = bytes(compress(codec, bare(records)))
    assert code_of(wrapped(records, codec, whole)) is ErrorCode.NONE
    end = data.draw(st.integers(0, len(whole) - 1))
    assert code_of(wrapped(records, codec, whole[:end])) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", PACKED)
@given(records=record_lists, inner=st.sampled_from(PACKED), behind=st.binary(min_size=1, max_size=30))
@examples(15)
def test_streams_in_streams_and_bytes_behind_them(
    codec: Codec, records: list[Any], inner: Codec, behind: bytes
) -> None:
    body = bare(records)
    nested = compress(codec, compress(inner, body))
    followed = bytes(compress(codec, body)) + behind
    twice = compress(codec, body + body)
    for packed in (nested, followed, twice, compress(codec, build_batch(records))):
        assert code_of(wrapped(records, codec, packed)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [Codec.NONE, *PACKED])
@given(records=record_lists, garbage=st.binary(max_size=200))
@examples(30)
def test_garbage_is_refused_or_is_what_the_header_says(codec: Codec, records: list[Any], garbage: bytes) -> None:
    batch = wrapped(records, codec, garbage)
    if code_of(batch) is ErrorCode.NONE:
        assert deep_check(batch).count == len(records)


@pytest.mark.parametrize("codec", [Codec.NONE, *PACKED])
@given(records=record_lists, data=st.data())
@examples(25)
def test_what_is_taken_can_be_read(codec: Codec, records: list[Any], data: st.DataObject) -> None:
    """A byte of the body, or of the header behind the checksum, is another."""
    batch = bytearray(build_batch(records, codec=codec))
    at = data.draw(st.integers(ATTRIBUTES_AT, len(batch) - 1))
    batch[at] ^= data.draw(st.integers(1, 255))
    fix_checksum(batch)
    asked = rules(codec=data.draw(st.sampled_from([None, *PACKED])))
    try:
        check_produced(memoryview(batch), rules(validates=False), VERSION, NOW_MS)
    except RecordError:
        return
    except NeedsReading:
        pass
    finding = found(batch, asked)
    if not isinstance(finding, Refusal):
        stored = batch if finding is None else finding
        assert deep_check(stored)
        assert [each[2:] for each in iterate(stored)] == [each[2:] for each in iterate(batch)]


@pytest.mark.parametrize("codec", PACKED)
@given(records=record_lists)
@examples(20)
def test_the_bound_on_unpacked_bytes(codec: Codec, records: list[Any]) -> None:
    body = bare(records)
    batch = wrapped(records, codec, compress(codec, body))
    assert code_of(batch, rules(unpacked_bytes_max=len(body))) is ErrorCode.NONE
    assert code_of(batch, rules(unpacked_bytes_max=len(body) - 1)) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("size", [1, 1000, MIB, 16 * MIB])
def test_nothing_unpacks_to_more_than_the_ratio_says(codec: Codec, size: int) -> None:
    assert size <= len(compress(codec, bytes(size))) * RATIO_MAX[codec]


@given(records=record_lists, lie=st.integers(1, 2**31 - 1))
@examples(25)
def test_a_count_that_is_not_that_of_the_records(records: list[Any], lie: int) -> None:
    header = read_header(build_batch(records))
    if lie != header.count:
        batch = seal(header._replace(count=lie, last_offset_delta=lie - 1), bare(records))
        assert code_of(batch) is ErrorCode.INVALID_RECORD


def test_each_of_many_has_a_finding_of_its_own() -> None:
    honest = build_batch([(b"k", b"v", (), NOW_MS)])
    liar = wrapped([(b"k", b"v", (), NOW_MS)], Codec.LZ4, b"garbage")
    questions = [Question(batch, rules(), NOW_MS) for batch in (honest, liar, honest)]
    kinds = [type(finding) for finding in examine_all(None, questions)]  # type: ignore[arg-type]  # it touches no files
    assert kinds == [type(None), Refusal, type(None)]
    with pytest.raises(CorruptBatch):
        deep_check(liar)
