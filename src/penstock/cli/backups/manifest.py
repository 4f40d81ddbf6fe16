"""What a backup is: one manifest that names every file of it, with size and checksum. It is written last, so that a
backup without one does not exist.

LOCATION/NAME/manifest.json                               what follows, and its own checksum
LOCATION/NAME/metadata.checkpoint                         the metadata, as a snapshot in Kafka's format
LOCATION/NAME/offsets.json                                what groups have committed
LOCATION/data/TOPIC-ID/PARTITION/FROM-TO-CHECKSUM.log     batches as they were, shared by the backups that hold them
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from penstock.cli.backups.store import Store
from penstock.cli.talk import Refused

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
METADATA: Final = "metadata.checkpoint"
OFFSETS: Final = "offsets.json"
DATA: Final = "data"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_HASH: Final = "manifest_sha256"


class StoredFile(NamedTuple):
    """A file of a backup, by its name in the store."""

    path: str
    size_bytes: int
    sha256: str


class Chunk(NamedTuple):
    """Batches in a row, all that a partition has from one offset up to another."""

    first: int
    end: int
    file: StoredFile


class PartitionBackup(NamedTuple):
    """One partition from its first offset up to the cut. `epoch` is the leader epoch of the last batch, -1 without."""

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int
    epoch: int
    is_compacted: bool
    chunks: tuple[Chunk, ...]

    @property
    def size_bytes(self) -> int:
        return sum(chunk.file.size_bytes for chunk in self.chunks)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Manifest(NamedTuple):
    """One backup."""

    name: str
    cluster_id: str
    created_ms: int
    metadata_offset: int
    metadata_epoch: int
    has_credentials: bool
    metadata: StoredFile
    offsets: StoredFile
    partitions: tuple[PartitionBackup, ...]

    @property
    def topics(self) -> list[str]:
        return sorted({each.topic for each in self.partitions})

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files())

    def files(self) -> Iterator[StoredFile]:
        yield self.metadata
        yield self.offsets
        for each in self.partitions:
            yield from (chunk.file for chunk in each.chunks)

    def encode(self) -> bytes:
        facts = {"format": FORMAT, **_plain(self)}
        return json.dumps({**facts, _HASH: _digest(facts)}, indent=1).encode()


def stored(path: str, data: bytes) -> StoredFile:
    return StoredFile(path, len(data), sha256(data))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def check_name(name: str) -> str:
    if _NAME.fullmatch(name) is None or name == DATA:
        raise Refused(f"{name!r} is no name for a backup", "letters, digits, dots, dashes and underscores make one")
    return name


def names(store: Store) -> list[str]:
    """Every backup that there is, or that was begun."""
    return [name for name in store.names("") if name != DATA and _NAME.fullmatch(name)]


def load(store: Store, name: str) -> Manifest:
    """A backup that is there, and whose manifest is as it was written."""
    path = f"{check_name(name)}/{MANIFEST}"
    data = store.get(path)
    if data is None:
        begun = name in names(store)
        raise Refused(
            f"backup {name} was not finished" if begun else f"there is no backup {name}",
            "`penstock backup create` begins it anew" if begun else "`penstock backup list` shows what there is",
        )
    return decode(path, data)


def newest(store: Store) -> Manifest | None:
    """The backup that was finished last, as far as manifests can be read."""
    found = [_readable(store, name) for name in names(store)]
    return max((each for each in found if each is not None), key=lambda each: each.created_ms, default=None)


def _readable(store: Store, name: str) -> Manifest | None:
    try:
        return load(store, name)
    except Refused:
        return None


def decode(path: str, data: bytes) -> Manifest:
    try:
        facts: dict[str, Any] = json.loads(data)
        given = facts.pop(_HASH)
    except (ValueError, KeyError, AttributeError):
        raise _wrong(path) from None
    if given != _digest(facts):
        raise _wrong(path)
    if facts.pop("format") != FORMAT:
        raise Refused(f"{path} was written by a newer Penstock", "update this one")
    facts["partitions"] = tuple(_partition(each) for each in facts["partitions"])
    return Manifest(**facts | {key: StoredFile(**facts[key]) for key in ("metadata", "offsets")})


def _partition(facts: dict[str, Any]) -> PartitionBackup:
    chunks = tuple(Chunk(**each | {"file": StoredFile(**each["file"])}) for each in facts["chunks"])
    return PartitionBackup(**facts | {"chunks": chunks})


def _wrong(path: str) -> Refused:
    return Refused(f"{path} is damaged: its checksum is another one", "take another backup: `penstock backup list`")


def _digest(facts: dict[str, Any]) -> str:
    return sha256(json.dumps(facts, sort_keys=True, separators=(",", ":")).encode())


def _plain(value: Any) -> Any:
    """Named tuples as objects."""
    if hasattr(value, "_asdict"):
        return {key: _plain(each) for key, each in value._asdict().items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
