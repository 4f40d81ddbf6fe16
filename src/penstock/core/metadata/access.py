"""Who may do what, how much, and with which proof: the part of the image that access control will read.

The records are kept as they came. Nothing decides on them yet, but a node must carry them from log to snapshot and
back, or they would be lost when the log is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.core.base.values import fresh, frozen
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    EntityData,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

QuotaEntity = tuple[tuple[str, str | None], ...]
"""(type, name) pairs in the order of their types; a name of None stands for all who have no quota of their own."""


@frozen
class AccessImage:
    """Immutable, as the image it belongs to."""

    entries: Mapping[bytes, AccessControlEntryRecord] = fresh(default_factory=dict)
    credentials: Mapping[tuple[str, int], UserScramCredentialRecord] = fresh(default_factory=dict)
    tokens: Mapping[str, DelegationTokenRecord] = fresh(default_factory=dict)
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = fresh(default_factory=dict)

    def records(self) -> Iterator[StoredRecord]:
        yield from self.entries.values()
        yield from self.credentials.values()
        yield from self.tokens.values()
        for entity, quotas in self.quotas.items():
            data = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
            for key, value in quotas.items():
                yield ClientQuotaRecord(entity=data, key=key, value=value)


class AccessDraft:
    """Copies of the maps, made once per fold however many records change them."""

    def __init__(self, access: AccessImage) -> None:
        self.entries = dict(access.entries)
        self.credentials = dict(access.credentials)
        self.tokens = dict(access.tokens)
        self.quotas = dict(access.quotas)

    def finish(self) -> AccessImage:
        return AccessImage(self.entries, self.credentials, self.tokens, self.quotas)

    def put_entry(self, record: AccessControlEntryRecord) -> None:
        self.entries[record.id] = record

    def remove_entry(self, record: RemoveAccessControlEntryRecord) -> None:
        self.entries.pop(record.id, None)

    def put_credential(self, record: UserScramCredentialRecord) -> None:
        self.credentials[record.name, record.mechanism] = record

    def remove_credential(self, record: RemoveUserScramCredentialRecord) -> None:
        self.credentials.pop((record.name, record.mechanism), None)

    def put_token(self, record: DelegationTokenRecord) -> None:
        self.tokens[record.token_id] = record

    def remove_token(self, record: RemoveDelegationTokenRecord) -> None:
        self.tokens.pop(record.token_id, None)

    def change_quota(self, record: ClientQuotaRecord) -> None:
        pairs = [(each.entity_type, each.entity_name) for each in record.entity]
        entity = tuple(sorted(pairs, key=lambda pair: pair[0]))
        quotas = dict(self.quotas.pop(entity, {}))
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        if quotas:
            self.quotas[entity] = quotas


APPLY_ACCESS: dict[type[StoredRecord], Callable[[AccessDraft, Any], None]] = {
    AccessControlEntryRecord: AccessDraft.put_entry,
    RemoveAccessControlEntryRecord: AccessDraft.remove_entry,
    UserScramCredentialRecord: AccessDraft.put_credential,
    RemoveUserScramCredentialRecord: AccessDraft.remove_credential,
    DelegationTokenRecord: AccessDraft.put_token,
    RemoveDelegationTokenRecord: AccessDraft.remove_token,
    ClientQuotaRecord: AccessDraft.change_quota,
}
