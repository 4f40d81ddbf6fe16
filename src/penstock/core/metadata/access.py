"""Who may do what, how much, and with which proof: the part of the image that access control reads.

The records are kept as they came, and access rules a second time as they are looked up: by what they are about, and by
whom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.core.base.quotas import QuotaEntity
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

RulePattern = tuple[int, int, str]
"""Type of resource, type of pattern, and name: what a rule is about."""
RulesById = Mapping[bytes, AccessControlEntryRecord]
Rules = Mapping[RulePattern, Mapping[str, RulesById]]
"""Of each pattern the rules of each principal; none of these maps is empty."""


@frozen
class AccessImage:
    """Immutable, as the image it belongs to."""

    entries: Mapping[bytes, AccessControlEntryRecord] = fresh(default_factory=dict)
    credentials: Mapping[tuple[str, int], UserScramCredentialRecord] = fresh(default_factory=dict)
    tokens: Mapping[str, DelegationTokenRecord] = fresh(default_factory=dict)
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = fresh(default_factory=dict)
    rules: Rules = fresh(default_factory=dict)
    """The entries once more, by what they are about and by whom."""

    def records(self) -> Iterator[StoredRecord]:
        yield from self.entries.values()
        yield from self.credentials.values()
        yield from self.tokens.values()
        for entity, quotas in self.quotas.items():
            data = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
            for key, value in quotas.items():
                yield ClientQuotaRecord(entity=data, key=key, value=value)


class AccessDraft:
    """Copies of the maps, made once per fold however many records change them. Of the rules only those of a pattern and
    a principal that change are copied; all others are shared with the image of before."""

    def __init__(self, access: AccessImage) -> None:
        self.entries = dict(access.entries)
        self.rules = access.rules
        # The same, once it is a copy.
        self._own_rules: dict[RulePattern, Mapping[str, RulesById]] | None = None
        # The rules of a pattern, and of a principal in it, that are copies already.
        self._own_patterns: dict[RulePattern, dict[str, RulesById]] = {}
        self._own_principals: dict[tuple[RulePattern, str], dict[bytes, AccessControlEntryRecord]] = {}
        self.credentials = dict(access.credentials)
        self.tokens = dict(access.tokens)
        self.quotas = dict(access.quotas)

    def finish(self) -> AccessImage:
        return AccessImage(self.entries, self.credentials, self.tokens, self.quotas, self.rules)

    def put_entry(self, record: AccessControlEntryRecord) -> None:
        self._forget(record.id)
        self.entries[record.id] = record
        self._rules_of(record)[record.id] = record

    def remove_entry(self, record: RemoveAccessControlEntryRecord) -> None:
        self._forget(record.id)

    def _forget(self, entry_id: bytes) -> None:
        entry = self.entries.pop(entry_id, None)
        if entry is None:
            return
        rules, pattern = self._rules_of(entry), _pattern_of(entry)
        del rules[entry_id]
        if not rules:
            del self._own_principals[pattern, entry.principal]
            del self._own_patterns[pattern][entry.principal]
        if not self._own_patterns[pattern]:
            del self._own_patterns[pattern], self._patterns()[pattern]

    def _rules_of(self, entry: AccessControlEntryRecord) -> dict[bytes, AccessControlEntryRecord]:
        """Those of its pattern and its principal, to be changed."""
        pattern, principal = _pattern_of(entry), entry.principal
        found = self._own_principals.get((pattern, principal))
        if found is None:
            by_principal = self._own_patterns.get(pattern)
            if by_principal is None:
                by_principal = self._own_patterns[pattern] = dict(self.rules.get(pattern, {}))
                self._patterns()[pattern] = by_principal
            found = dict(by_principal.get(principal, {}))
            by_principal[principal] = self._own_principals[pattern, principal] = found
        return found

    def _patterns(self) -> dict[RulePattern, Mapping[str, RulesById]]:
        """Of all rules, to be changed. Where only other things change they stay the same ones, and whoever remembers
        what they say need not forget it."""
        if self._own_rules is None:
            self.rules = self._own_rules = dict(self.rules)
        return self._own_rules

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


def _pattern_of(entry: AccessControlEntryRecord) -> RulePattern:
    return entry.resource_type, entry.pattern_type, entry.resource_name


APPLY_ACCESS: dict[type[StoredRecord], Callable[[AccessDraft, Any], None]] = {
    AccessControlEntryRecord: AccessDraft.put_entry,
    RemoveAccessControlEntryRecord: AccessDraft.remove_entry,
    UserScramCredentialRecord: AccessDraft.put_credential,
    RemoveUserScramCredentialRecord: AccessDraft.remove_credential,
    DelegationTokenRecord: AccessDraft.put_token,
    RemoveDelegationTokenRecord: AccessDraft.remove_token,
    ClientQuotaRecord: AccessDraft.change_quota,
}
