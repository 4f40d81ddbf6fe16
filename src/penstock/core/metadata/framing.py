"""Metadata records as bytes: a frame version, the record's key and version, then its fields, as KRaft stores them."""

from __future__ import annotations

from penstock.core.base.errors import PenstockError
from penstock.core.metadata.features import METADATA_LEVEL
from penstock.core.metadata.levels import fitted, version_at
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored import cluster_metadata as stored

FRAME_VERSION = 1

_CLASSES = {
    cls.TYPE: cls
    for cls in vars(stored).values()
    if isinstance(cls, type) and issubclass(cls, StoredRecord) and cls.VERSIONS
}


class UnknownMetadata(PenstockError):
    """A metadata record this version cannot read: the folder was written by a newer one."""


def encode_record(record: StoredRecord, level: int = METADATA_LEVEL) -> bytes:
    """A record as a cluster at some level may read it."""
    version = version_at(type(record), level)
    if level < METADATA_LEVEL:
        record = fitted(record, level)
    return bytes((FRAME_VERSION, record.TYPE, version)) + record.encode(version)


def decode_record(value: bytes) -> StoredRecord:
    if len(value) < 3 or value[0] != FRAME_VERSION:
        raise UnknownMetadata("a metadata record has an unknown frame; start the Penstock that wrote it")
    cls = _CLASSES.get(value[1])
    if cls is None or value[2] > cls.VERSIONS[-1]:
        raise UnknownMetadata(
            f"metadata record {value[1]} version {value[2]} is not known here; start the newer Penstock that wrote it"
        )
    return cls.decode(value, value[2], 3)
