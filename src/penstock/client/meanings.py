"""What records of the cluster's own topics mean: metadata, committed offsets and groups, transactions, control records.

Everything is decoded by the declarations that the node itself reads its logs with.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final, NamedTuple

from penstock.core.base.errors import PenstockError
from penstock.core.groups.records import TAG_BYTES, tag_of
from penstock.core.log.names import METADATA_TOPIC
from penstock.core.metadata.framing import decode_record
from penstock.core.metadata.storage import uuid_text
from penstock.core.records.control import ControlType, decode_end_transaction, decode_key
from penstock.core.records.record import Record
from penstock.core.wire.schema import StoredRecord, Struct
from penstock.core.wire.stored import (
    classic_group,
    consumer_group,
    quorum,
    share_group,
    share_state,
    streams_group,
    transaction_log,
)

_UUID: Final = "uuid"


class Meaning(NamedTuple):
    """What a record says; `fields` is None where it says that something is gone."""

    type: str
    key: dict[str, Any]
    fields: Any


def meaning_of(topic: str, record: Record, *, is_control: bool) -> Meaning | None:
    """None: it is a record of somebody else's, or one that nobody here knows."""
    try:
        if is_control:
            return _control(record.key, record.value or b"")
        if topic == METADATA_TOPIC and record.value is not None:
            told = decode_record(record.value)
            return Meaning(type(told).__name__, {}, plain(told))
        tables = _TABLES.get(topic)
        return None if tables is None or record.key is None else _keyed(tables, record.key, record.value)
    except (PenstockError, ValueError, IndexError):
        return None


_CONTROL: Final[dict[ControlType, type[StoredRecord]]] = {
    ControlType.LEADER_CHANGE: quorum.LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: quorum.SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: quorum.SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: quorum.KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: quorum.VotersRecord,
}


def _control(key: bytes | None, value: bytes) -> Meaning:
    kind = decode_key(key)
    name = kind.name.lower()
    if (mark := decode_end_transaction(key, value)) is not None:
        return Meaning(name, {}, {"coordinator_epoch": mark.coordinator_epoch})
    declared = _CONTROL.get(kind)
    # The first field of each is its version.
    return Meaning(name, {}, plain(value) if declared is None else plain(declared.decode(value, _version(value))))


def _version(value: bytes) -> int:
    return int.from_bytes(value[:2])


class _Kind(NamedTuple):
    name: str
    key: type[StoredRecord]
    value: type[StoredRecord]


def _kinds(*modules: object) -> dict[int, _Kind]:
    """By the number that a key begins with."""
    found = {}
    for module in modules:
        classes = {name: each for name, each in vars(module).items() if isinstance(each, type)}
        for name, key in classes.items():
            if name.endswith("Key") and issubclass(key, StoredRecord) and key.VERSIONS:
                short = name.removesuffix("Key")
                found[key.TYPE] = _Kind(short, key, classes[f"{short}Value"])
    return found


_TABLES: Final = {
    "__consumer_offsets": _kinds(classic_group, consumer_group, share_group, streams_group),
    "__transaction_state": _kinds(transaction_log),
    "__share_group_state": _kinds(share_state),
}


def _keyed(kinds: dict[int, _Kind], key: bytes, value: bytes | None) -> Meaning | None:
    kind = kinds.get(tag_of(key))
    if kind is None:
        return None
    named = plain(kind.key.decode(key, 0, TAG_BYTES))
    return Meaning(
        kind.name, named, None if value is None else plain(kind.value.decode(value, tag_of(value), TAG_BYTES))
    )


def plain(value: Any, kind: str = "") -> Any:
    """As JSON says it: structs are objects, bytes are text where they are, ids as Kafka writes them."""
    if isinstance(value, Struct):
        return {field.name: _field(getattr(value, field.name), field) for field in type(value).SPEC.fields}
    if isinstance(value, bytes | bytearray | memoryview):
        return uuid_text(bytes(value)) if kind == _UUID else _text(bytes(value))
    return value


def _field(value: Any, field: Any) -> Any:
    if isinstance(value, list):
        return [plain(each, field.element.kind) for each in value]
    return plain(value, field.kind)


def _text(content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = ""
    return text if text.isprintable() and (text or not content) else f"base64:{b64encode(content).decode()}"
