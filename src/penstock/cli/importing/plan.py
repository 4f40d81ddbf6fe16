"""What is to be taken from where: for every partition one copy that has all that was acknowledged."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import NamedTuple

from penstock.cli.importing.source import KafkaFolder, PartitionKey
from penstock.cli.talk import Refused
from penstock.core.log.names import CLEANED, DELETED, LOG, RECOVERY_POINTS_FILE, TEMPORARY, parse_file
from penstock.core.metadata.image import Image, PartitionImage
from penstock.core.records.batch import MAGIC

OFFSET_MAX = (1 << 63) - 1
_MAGIC_AT = 16
_LEADS, _IN_SYNC, _ELIGIBLE, _BEHIND = range(4)


class FileToTake(NamedTuple):
    """One file of a partition's folder; whether its bytes can be shared, because nobody will ever write to it again."""

    name: str
    size_bytes: int
    is_final: bool


class Copy(NamedTuple):
    """The copy of a partition that was chosen, and the files of it that count."""

    key: PartitionKey
    source: KafkaFolder
    files: list[FileToTake]

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def path(self) -> str:
        return self.source.folder(self.key)


def choose_copies(theirs: Image, topics: list[str], folders: list[KafkaFolder]) -> list[Copy]:
    """A copy of every partition. Refuses if one cannot be had, or could not be read to its end here."""
    copies = []
    for name in topics:
        topic = theirs.topic(name)
        assert topic is not None, "a topic that is taken is one of theirs"
        for index in range(len(topic)):
            source = _choose((name, index), topic.id, topic.partition(index), folders)
            copy = Copy((name, index), source, _files((name, index), source))
            _refuse_old_records(copy)
            copies.append(copy)
    return copies


def _choose(key: PartitionKey, topic_id: bytes, known: PartitionImage, folders: list[KafkaFolder]) -> KafkaFolder:
    holders = [folder for folder in folders if folder.has(key, topic_id)]
    best = min(holders, key=lambda folder: _rank(known, folder.node_id), default=None)
    if best is None or _rank(known, best.node_id) == _BEHIND:
        wanted = ", ".join(map(str, known.isr or known.standing.elr or known.replicas))
        raise Refused(
            f"no copy of {key[0]}-{key[1]} is given that is surely complete",
            f"name the log dirs of a node that was in sync as well (node {wanted})",
        )
    return best


def _rank(known: PartitionImage, node_id: int) -> int:
    if node_id == known.leader:
        return _LEADS
    if node_id in known.isr:
        return _IN_SYNC
    return _ELIGIBLE if node_id in known.standing.elr else _BEHIND


def _files(key: PartitionKey, source: KafkaFolder) -> list[FileToTake]:
    with os.scandir(source.folder(key)) as entries:
        sizes = {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}
    parsed = {name: parse_file(name) for name in sizes}
    logs = {name: each.offset for name, each in parsed.items() if each and each[1:] == (LOG, "")}
    ends = dict(pairwise(sorted(logs.values())))
    # Above the recovery point a node may have to cut what a crash has torn.
    trusted_end = OFFSET_MAX if source.is_clean else source.checkpoints[RECOVERY_POINTS_FILE].get(key, 0)
    final = {name for name, base in logs.items() if base in ends and ends[base] <= trusted_end}
    return [
        FileToTake(name, size_bytes, name in final)
        for name, size_bytes in sorted(sizes.items())
        if not name.endswith((CLEANED, DELETED, TEMPORARY))
    ]


def _refuse_old_records(copy: Copy) -> None:
    """Brokers before 0.11 wrote another format, and a log may still hold it."""
    for file in copy.files:
        name = parse_file(file.name)
        if name is None or name.kind != LOG or file.size_bytes <= _MAGIC_AT:
            continue
        with open(os.path.join(copy.path, file.name), "rb") as data:
            magic = data.read(_MAGIC_AT + 1)[_MAGIC_AT]
        if magic != MAGIC:
            raise Refused(
                f"{copy.path}/{file.name} has records in format {magic}; Penstock reads format {MAGIC}",
                "copy the topic into a new one with Kafka's tools first, and delete the old one",
            )
