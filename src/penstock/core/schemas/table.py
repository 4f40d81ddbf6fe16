"""What the records of `_schemas` fold to: every subject's versions, and what is set for them.

`replay` is the only writer, for a registry as for a node, so that both say the same of the same topic. It never fails:
a record that it cannot use is counted and passed over. Ids are a context's own; a schema is found by its id as long as
one version with it is there, be it softly deleted. The settings of a subject are its own, else those of its context,
else those of the global context.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, TypeVar

from penstock.core.schemas.records import (
    CLEAR_SUBJECT,
    CONFIG,
    CONTEXT,
    DELETE_SUBJECT,
    MODE,
    SCHEMA,
    Key,
    key_bytes,
    read_key,
    read_schema,
    read_value,
)
from penstock.core.schemas.stored import StoredSchema
from penstock.core.schemas.subjects import (
    DEFAULT_CONTEXT,
    GLOBAL_CONTEXT,
    GLOBAL_PREFIX,
    Qualified,
    beside,
    qualified,
)

VERSIONS_MAX: Final = 1_000_000
TEXT_CHARS_MAX: Final = 512 << 20
"""Of all schemas together: a topic has no end, a node's memory has one."""
SETTINGS_MAX: Final = 1_000_000

_K = TypeVar("_K")

Place = tuple[str, int]
"""A subject and its version."""


class SchemaTable:
    """Subjects, versions, ids, guids, references, settings."""

    def __init__(self) -> None:
        self.passed_over = 0
        self._subjects: dict[str, dict[int, StoredSchema]] = {}
        self._by_id: dict[str, dict[int, dict[Place, None]]] = {}
        self._by_guid: dict[str, dict[Place, None]] = {}
        self._referrers: dict[Place, dict[Place, None]] = {}
        self._last_ids: dict[str, int] = {}
        self._configs: dict[str | None, dict[str, Any]] = {}
        self._modes: dict[str | None, str] = {}
        self._spelled: dict[Key, bytes] = {}
        self._versions = 0
        self._chars = 0

    # What is there.

    def by_id(self, id: int, context: str = DEFAULT_CONTEXT) -> StoredSchema | None:
        return self._first(self._by_id.get(context, {}).get(id))

    def all_by_id(self, id: int, context: str = DEFAULT_CONTEXT) -> list[StoredSchema]:
        """Each version of each subject with this id, oldest first."""
        return [self._subjects[subject][version] for subject, version in self._by_id.get(context, {}).get(id, ())]

    def by_guid(self, guid: str) -> StoredSchema | None:
        return self._first(self._by_guid.get(guid))

    def all_by_guid(self, guid: str) -> list[StoredSchema]:
        return [self._subjects[subject][version] for subject, version in self._by_guid.get(guid, ())]

    def get(self, subject: str, version: int) -> StoredSchema | None:
        """Also if it is softly deleted."""
        return self._subjects.get(subject, {}).get(version)

    def versions(self, subject: str, deleted: bool = False) -> list[StoredSchema]:
        """In the order of their numbers; `deleted` shows those, too, that are softly deleted."""
        found = self._subjects.get(subject, {})
        return [found[version] for version in sorted(found) if deleted or not found[version].deleted]

    def latest(self, subject: str, deleted: bool = False) -> StoredSchema | None:
        found = self.versions(subject, deleted)
        return found[-1] if found else None

    def subjects(self, deleted: bool = False) -> list[str]:
        found = self._subjects.items()
        return sorted(name for name, held in found if deleted or any(not each.deleted for each in held.values()))

    def contexts(self) -> list[str]:
        return sorted({DEFAULT_CONTEXT, *self._by_id} - {GLOBAL_CONTEXT})

    def referenced_by(self, subject: str, version: int, deleted: bool = False) -> list[StoredSchema]:
        """Versions that refer to this one."""
        referrers = (self._subjects[name][at] for name, at in self._referrers.get((subject, version), ()))
        return [each for each in referrers if deleted or not each.deleted]

    def last_id(self, context: str) -> int:
        """The highest id that was ever given in this context, as far as the topic still tells; 0 before the first."""
        return self._last_ids.get(context, 0)

    def own_config(self, subject: str | None) -> dict[str, Any] | None:
        return self._configs.get(_setting(subject))

    def own_mode(self, subject: str | None) -> str | None:
        return self._modes.get(_setting(subject))

    def config(self, subject: str | None) -> dict[str, Any]:
        """What holds for the subject, as it is written in the topic; nothing if nobody set anything."""
        return next((self._configs[each] for each in _settings_of(subject) if each in self._configs), {})

    def mode(self, subject: str | None) -> str | None:
        return next((self._modes[each] for each in _settings_of(subject) if each in self._modes), None)

    def key_bytes(self, key: Key) -> bytes:
        """As the topic has it: a tombstone under another spelling would not take the record away."""
        return self._spelled.get(key) or key_bytes(key)

    # What happens.

    def replay(self, key: bytes | None, value: bytes | None) -> None:
        read = None if key is None else read_key(key)
        members = None if value is None else read_value(value)
        if key is None or read is None or (value is not None and members is None):
            self.passed_over += 1
            return
        self._remember_spelling(read, key, value)
        if read.kind == SCHEMA:
            self._replay_schema(read, members)
        elif read.kind in (CONFIG, MODE):
            self._replay_setting(read, members)
        elif members is not None:
            self._replay_act(read, members)

    def _remember_spelling(self, key: Key, data: bytes, value: bytes | None) -> None:
        if value is None or data == key_bytes(key):
            self._spelled.pop(key, None)
        elif len(self._spelled) < SETTINGS_MAX:
            self._spelled[key] = data

    def _replay_schema(self, key: Key, members: dict[str, Any] | None) -> None:
        assert key.subject is not None
        assert key.version is not None
        if members is None:
            self._take_away(key.subject, key.version)
            return
        schema = read_schema(key, members)
        context = qualified(key.subject).context
        same_id = None if schema is None else self.by_id(schema.id, context)
        if schema is None or (same_id is not None and same_id.text != schema.text) or self._is_full(schema):
            # An id has one text for ever: whoever wrote another one under it is not believed.
            self.passed_over += 1
            return
        known = same_id or self.by_guid(schema.guid)
        self._put(schema if known is None or known.text != schema.text else replace(schema, text=known.text))

    def _replay_setting(self, key: Key, members: dict[str, Any] | None) -> None:
        subject = _setting(key.subject)
        if members is None:
            (self._configs if key.kind == CONFIG else self._modes).pop(subject, None)
        elif len(self._configs) + len(self._modes) >= SETTINGS_MAX:
            self.passed_over += 1
        elif key.kind == CONFIG:
            self._configs[subject] = {name: value for name, value in members.items() if name != "subject"}
        elif isinstance(mode := members.get("mode"), str):
            self._modes[subject] = mode

    def _replay_act(self, key: Key, members: dict[str, Any]) -> None:
        subject = key.subject or ""
        if key.kind == DELETE_SUBJECT:
            last = members.get("version")
            for version, schema in self._subjects.get(subject, {}).items():
                if isinstance(last, int) and version <= last:
                    self._subjects[subject][version] = replace(schema, deleted=True)
        elif key.kind == CLEAR_SUBJECT:
            gone = [each for name in self._matching(subject) for each in self.versions(name, True) if each.deleted]
            for schema in gone:
                self._take_away(schema.subject, schema.version)
        elif key.kind == CONTEXT:
            # The last id outlives the schema that had it, so that it is not given again; others do not know the member.
            last = members.get("lastId")
            self._by_id.setdefault(subject, {})
            if isinstance(last, int):
                self._last_ids[subject] = max(self._last_ids.get(subject, 0), last)

    def _matching(self, subject: str) -> list[str]:
        """The subject; or, by the name of a context alone, all of its subjects."""
        name = qualified(subject)
        if name.subject:
            return [subject]
        everywhere = name.context == GLOBAL_CONTEXT
        return [each for each in self._subjects if everywhere or qualified(each).context == name.context]

    def _put(self, schema: StoredSchema) -> None:
        place, context = (schema.subject, schema.version), qualified(schema.subject).context
        self._take_away(*place)
        self._subjects.setdefault(schema.subject, {})[schema.version] = schema
        self._by_id.setdefault(context, {}).setdefault(schema.id, {})[place] = None
        self._by_guid.setdefault(schema.guid, {})[place] = None
        self._last_ids[context] = max(self._last_ids.get(context, 0), schema.id)
        for target in _targets(schema):
            self._referrers.setdefault(target, {})[place] = None
        self._versions += 1
        self._chars += len(schema.text)

    def _take_away(self, subject: str, version: int) -> None:
        schema = self._subjects.get(subject, {}).pop(version, None)
        if schema is None:
            return
        place, ids = (subject, version), self._by_id[qualified(subject).context]
        if not self._subjects[subject]:
            del self._subjects[subject]
        _drop(ids, schema.id, place)
        _drop(self._by_guid, schema.guid, place)
        for target in _targets(schema):
            _drop(self._referrers, target, place)
        self._versions -= 1
        self._chars -= len(schema.text)

    def _is_full(self, schema: StoredSchema) -> bool:
        return self._versions >= VERSIONS_MAX or self._chars + len(schema.text) > TEXT_CHARS_MAX

    def _first(self, places: dict[Place, None] | None) -> StoredSchema | None:
        """Of the versions with the same content one that is not deleted, if there is one."""
        first = None
        for subject, version in places or ():
            first = self._subjects[subject][version]
            if not first.deleted:
                break
        return first


def _drop(table: dict[_K, dict[Place, None]], key: _K, place: Place) -> None:
    places = table.get(key, {})
    places.pop(place, None)
    if not places:
        table.pop(key, None)


def _targets(schema: StoredSchema) -> Iterator[Place]:
    return ((beside(each.subject, schema.subject), each.version) for each in schema.references)


def _setting(subject: str | None) -> str | None:
    """The context without a name has its settings under no subject."""
    return subject or None


def _settings_of(subject: str | None) -> tuple[str | None, ...]:
    """Where to look, first to last."""
    context = qualified(subject or "").context
    return (_setting(subject), _setting(str(Qualified(context, ""))), GLOBAL_PREFIX)
