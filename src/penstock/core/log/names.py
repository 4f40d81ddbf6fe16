"""File names of a partition's folder, as Kafka writes them: a 20-digit base offset, a kind, perhaps a stage."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final, NamedTuple

LOG: Final = ".log"
INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TXN_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"

# Stages: of a rewritten segment before it counts, of the moment it replaces what it came from, of what waits to go.
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
DELETED: Final = ".deleted"
TEMPORARY: Final = ".tmp"

NOWHERE: Final = ""
"""The path of a file that is no more."""

SEGMENT_KINDS: Final = (LOG, INDEX, TIME_INDEX, TXN_INDEX)

EPOCHS_FILE: Final = "leader-epoch-checkpoint"
PARTITION_FILE: Final = "partition.metadata"
PACKED_FILE: Final = "packed-offset-checkpoint"

RECOVERY_POINTS_FILE: Final = "recovery-point-offset-checkpoint"
LOG_STARTS_FILE: Final = "log-start-offset-checkpoint"
CLEANER_FILE: Final = "cleaner-offset-checkpoint"
HIGH_WATERMARKS_FILE: Final = "replication-offset-checkpoint"
CLEAN_MARK_FILE: Final = ".kafka_cleanshutdown"

DELETED_DIR: Final = "-delete"
METADATA_TOPIC: Final = "__cluster_metadata"
"""The name of the metadata log. No topic is ever opened under it: its folder would be that of the Raft log."""
METADATA_DIR: Final = f"{METADATA_TOPIC}-0"

_FILE: Final = re.compile(
    r"(\d{20})(\.log|\.index|\.timeindex|\.txnindex|\.snapshot)(\.cleaned|\.swap|(?:\.\d+)?\.deleted)?", re.ASCII
)
_DIR: Final = re.compile(r"([a-zA-Z0-9._-]{1,249})-(\d{1,10})", re.ASCII)


class FileName(NamedTuple):
    """A name taken apart; `stage` is empty for a file that counts."""

    offset: int
    kind: str
    stage: str


def path_of(folder: str, offset: int, kind: str, stage: str = "") -> str:
    return f"{folder}/{offset:020d}{kind}{stage}"


def path_of_removed(path: str, taken: Container[str]) -> str:
    """The name under which a removed file waits for its end. An earlier one that had the same name may still be
    waiting, and who reads that must not come upon this one."""
    found, number = path + DELETED, 1
    while found in taken:
        number += 1
        found = f"{path}.{number}{DELETED}"
    return found


def parse_file(name: str) -> FileName | None:
    """None for a name that is not one of a segment's or a snapshot's."""
    match = _FILE.fullmatch(name)
    return FileName(int(match[1]), match[2], match[3] or "") if match else None


def parse_folder(name: str) -> tuple[str, int] | None:
    """(topic, partition) of a partition's folder; None for every other name."""
    match = _DIR.fullmatch(name)
    return (match[1], int(match[2])) if match else None
