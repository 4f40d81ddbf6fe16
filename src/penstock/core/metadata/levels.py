"""Which form of a record a level of the metadata allows: what an older member of the cluster could not read is not
written before everyone has agreed on a later level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.core.metadata.features import METADATA_LEVEL, METADATA_VERSION
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)

_BY_LEVEL: Final[Mapping[type[StoredRecord], Sequence[tuple[int, int]]]] = {
    # (from this level on, this version), the newest first.
    RegisterBrokerRecord: ((30, 4), (17, 3), (8, 2), (0, 1)),
    PartitionRecord: ((23, 2), (17, 1), (0, 0)),
    PartitionChangeRecord: ((23, 2), (17, 1), (0, 0)),
    BrokerRegistrationChangeRecord: ((30, 3), (17, 2), (0, 1)),
}

_CORDONS_SINCE: Final = 3
"""The version of BrokerRegistrationChangeRecord that has a field for cordoned directories."""


def level_of(features: Mapping[str, int]) -> int:
    """The level at which records are written; a log that is still empty begins with ours."""
    return features.get(METADATA_VERSION, METADATA_LEVEL)


def version_at(record: type[StoredRecord], level: int) -> int:
    """The version in which a record is written at a level."""
    for first, version in _BY_LEVEL.get(record, ()):
        if level >= first:
            return version
    return record.VERSIONS[-1]


def keeps_cordons(features: Mapping[str, int]) -> bool:
    """Whether the record of a broker's change can say which of its directories are cordoned."""
    return version_at(BrokerRegistrationChangeRecord, level_of(features)) >= _CORDONS_SINCE


def fitting(records: Sequence[StoredRecord], level: int) -> Sequence[StoredRecord]:
    """The records without what their versions have no room for. Directories are the only such thing that can be known
    before the level for it is reached; nobody misses them then."""
    return records if level >= METADATA_LEVEL else [fitted(record, level) for record in records]


def fitted(record: StoredRecord, level: int) -> StoredRecord:
    version = version_at(type(record), level)
    missing = [field for field in type(record).SPEC.fields if not field.exists_in(version)]
    if not missing:
        return record
    values: dict[str, Any] = {field.name: getattr(record, field.name) for field in type(record).SPEC.fields}
    for field in missing:
        del values[field.name]
    return type(record)(**values)
