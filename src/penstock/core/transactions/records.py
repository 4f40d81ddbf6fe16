"""A transactional id as a record of `__transaction_state`, in Kafka's format.

Value version 0 has no room for other producer ids than the current one, nor for the client's version. It is written
while `transaction.version` is 0, unless a transaction that began before it went down needs more.
"""

from __future__ import annotations

import struct
from typing import Final

from penstock.core.rsm.result import KeyValue
from penstock.core.transactions.metadata import NO_ID, TopicPartition, TransactionMetadata
from penstock.core.transactions.states import State
from penstock.core.wire.stored.transaction_log import PartitionsSchema, TransactionLogKey, TransactionLogValue

_TAG: Final = struct.Struct(">h")
_KEY_VERSION: Final = 0
_VALUE_VERSIONS: Final = TransactionLogValue.VERSIONS


def transaction_record(metadata: TransactionMetadata, transaction_version: int) -> KeyValue:
    version = 1 if transaction_version >= 1 or metadata.next_producer_id != NO_ID else 0
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state,
        transaction_partitions=None if metadata.state is State.EMPTY else _by_topic(metadata.partitions),
        transaction_last_update_timestamp_ms=metadata.updated_ms,
        transaction_start_timestamp_ms=metadata.started_ms,
    )
    if version >= 1:
        value.previous_producer_id = metadata.previous_producer_id
        value.next_producer_id = metadata.next_producer_id
        value.next_producer_epoch = metadata.next_producer_epoch
        value.client_transaction_version = metadata.client_version
    return _key(metadata.transactional_id), _TAG.pack(version) + value.encode(version)


def transaction_tombstone(transactional_id: str) -> KeyValue:
    return _key(transactional_id), None


def decode_key(key: bytes) -> str | None:
    """The transactional id, or None for a key of a type that a newer version has written."""
    (kind,) = _TAG.unpack_from(key)
    return TransactionLogKey.decode(key, _KEY_VERSION, _TAG.size).transactional_id if kind == _KEY_VERSION else None


def decode_value(transactional_id: str, value: bytes) -> TransactionMetadata | None:
    """What a record says, or None for a version that is not known here."""
    (version,) = _TAG.unpack_from(value)
    if version not in _VALUE_VERSIONS:
        return None
    stored = TransactionLogValue.decode(value, version, _TAG.size)
    return TransactionMetadata(
        transactional_id=transactional_id,
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        next_producer_epoch=stored.next_producer_epoch,
        timeout_ms=stored.transaction_timeout_ms,
        state=State(stored.transaction_status),
        partitions=tuple(
            (each.topic, index) for each in stored.transaction_partitions or () for index in each.partition_ids
        ),
        started_ms=stored.transaction_start_timestamp_ms,
        updated_ms=stored.transaction_last_update_timestamp_ms,
        client_version=stored.client_transaction_version,
    )


def _key(transactional_id: str) -> bytes:
    return _TAG.pack(TransactionLogKey.TYPE) + TransactionLogKey(transactional_id=transactional_id).encode(_KEY_VERSION)


def _by_topic(partitions: tuple[TopicPartition, ...]) -> list[PartitionsSchema]:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return [PartitionsSchema(topic=topic, partition_ids=indexes) for topic, indexes in topics.items()]
