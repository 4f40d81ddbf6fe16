"""Control records: marks the cluster writes into a log for itself. The key says which; the value is the type's own."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from struct import error as StructError
from typing import Final, NamedTuple

from penstock.core.records.batch import NO_LEADER_EPOCH
from penstock.core.records.build import build_batch
from penstock.core.records.errors import CorruptBatch

_KEY: Final = Struct(">hh")
_END_TRANSACTION: Final = Struct(">hi")
_VERSION: Final = 0


class ControlType(IntEnum):
    """The types of Kafka 4.3; readers pass over others."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    UNKNOWN = -1


class EndTransaction(NamedTuple):
    """The mark that ends a producer's transaction in one partition."""

    committed: bool
    coordinator_epoch: int


def encode_key(control_type: ControlType) -> bytes:
    assert control_type is not ControlType.UNKNOWN
    return _KEY.pack(_VERSION, control_type)


def decode_key(key: bytes | None) -> ControlType:
    """The type; later versions of the key may add fields, never move these."""
    try:
        version, number = _KEY.unpack_from(key or b"")
    except StructError:
        raise CorruptBatch("a control record's key is shorter than 4 bytes") from None
    if version < 0:
        raise CorruptBatch(f"a control record's key has version {version}")
    return ControlType(number) if 0 <= number <= ControlType.KRAFT_VOTERS else ControlType.UNKNOWN


def decode_end_transaction(key: bytes | None, value: bytes | None) -> EndTransaction | None:
    """The mark, or None for a control record of another type."""
    control_type = decode_key(key)
    if control_type not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    try:
        version, coordinator_epoch = _END_TRANSACTION.unpack_from(value or b"")
    except StructError:
        raise CorruptBatch("an end-transaction marker is shorter than 6 bytes") from None
    if version < 0:
        raise CorruptBatch(f"an end-transaction marker has version {version}")
    return EndTransaction(control_type is ControlType.COMMIT, coordinator_epoch)


def build_control_batch(
    control_type: ControlType,
    value: bytes,
    timestamp: int,
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """A control record of its own batch, outside any transaction."""
    record = (encode_key(control_type), value, (), timestamp)
    return build_batch([record], base_offset=base_offset, leader_epoch=leader_epoch, control=True)


def build_end_transaction(
    mark: EndTransaction, producer_id: int, producer_epoch: int, timestamp: int, *, base_offset: int = 0
) -> bytearray:
    """The batch that ends a transaction; it has no sequence, so it never disturbs the producer's."""
    key = encode_key(ControlType.COMMIT if mark.committed else ControlType.ABORT)
    return build_batch(
        [(key, _END_TRANSACTION.pack(_VERSION, mark.coordinator_epoch), (), timestamp)],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )
