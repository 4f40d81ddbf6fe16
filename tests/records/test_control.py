"""Control records as Kafka's clients read them."""

import pytest

from penstock.core.records.batch import NO_SEQUENCE, read_header
from penstock.core.records.control import (
    ControlType,
    EndTransaction,
    build_control_batch,
    build_end_transaction,
    decode_end_transaction,
    decode_key,
    encode_key,
)
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import iterate


@pytest.mark.parametrize("committed", [True, False])
def test_end_of_a_transaction(committed: bool) -> None:
    mark = EndTransaction(committed, 11)
    batch = build_end_transaction(mark, 1000, 3, 1234, base_offset=5)
    header = read_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1000, 3, NO_SEQUENCE)
    record = next(iterate(batch))
    assert record.key == (b"\x00\x00\x00\x01" if committed else b"\x00\x00\x00\x00")
    assert record.value == b"\x00\x00\x00\x00\x00\x0b"
    assert decode_end_transaction(record.key, record.value) == mark


@pytest.mark.parametrize("control_type", [kind for kind in ControlType if kind is not ControlType.UNKNOWN])
def test_keys(control_type: ControlType) -> None:
    assert decode_key(encode_key(control_type)) is control_type
    record = next(iterate(build_control_batch(control_type, b"\x00\x00\x00\x00\x00\x07", 9, leader_epoch=2)))
    assert (decode_end_transaction(record.key, record.value) is None) == (control_type > ControlType.COMMIT)


def test_keys_of_the_future_are_passed_over() -> None:
    assert decode_key(b"\x00\x07\x00\x01more") is ControlType.COMMIT
    assert decode_key(b"\x00\x00\x00\x07") is ControlType.UNKNOWN
    assert decode_key(b"\x00\x00\xff\xff") is ControlType.UNKNOWN


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x00"])
def test_broken_keys(key: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        decode_key(key)


@pytest.mark.parametrize("value", [None, b"", b"\x00\x00\x00\x00\x00", b"\xff\xff\x00\x00\x00\x00"])
def test_broken_marks(value: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        decode_end_transaction(b"\x00\x00\x00\x01", value)
