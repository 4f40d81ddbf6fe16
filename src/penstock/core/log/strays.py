"""Logs that are set aside: the metadata does not know them, but they hold records, so nobody but a person deletes them.

Such a folder is renamed as Kafka renames it, to `<topic>-<partition>.<unique id>-stray`, and a note is left in it with
what the new name or the checkpoints no longer say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container
from typing import Final, NamedTuple

from penstock.core.base.ports import Steps
from penstock.core.log import checkpoints
from penstock.core.log.durable import sync_folder
from penstock.core.log.log import Log

STRAY_DIR: Final = "-stray"
STRAY_FILE: Final = "stray.json"
NAME_LENGTH_MAX: Final = 255
NO_ID: Final = bytes(16)

_STRAY: Final = re.compile(r"([a-zA-Z0-9._-]{1,249})-(\d{1,10})\.([a-zA-Z0-9_]+)-stray", re.ASCII)


class Note(NamedTuple):
    """What is written into the folder. The topic's name may have been too long for the folder's new one."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int
    why: str


def parse_stray(name: str) -> tuple[str, int] | None:
    """(topic, perhaps shortened, and partition) of a folder that was set aside; None for every other name."""
    match = _STRAY.fullmatch(name)
    return (match[1], int(match[2])) if match else None


def departing_name(log: Log, suffix: str, taken: Container[str]) -> str:
    """As Kafka names what leaves: it reads the number of the partition up to the last dot. The unique part begins with
    the topic's id; a replica may leave again while what it left before is still there."""
    unique, count = (log.topic_id or NO_ID).hex(), 0
    while True:
        end = f"-{log.partition}.{unique}{f'{count:x}' if count else ''}{suffix}"
        name = log.topic[: NAME_LENGTH_MAX - len(end)] + end
        if name not in taken:
            return name
        count += 1


def prepare(log: Log, note: Note) -> Steps[None]:
    """Let a log last as it is, and leave the note. One that was never opened stays as it was found."""
    yield from log.close()
    yield from checkpoints.replace(f"{log.dir}/{STRAY_FILE}", encode_note(note))
    yield from sync_folder(log.dir)


def holds_records(log: Log) -> bool:
    """Whether there ever was a record in a log, as far as can be seen: retention may have taken all of them."""
    return log.end_offset > 0 or log.size_bytes() > 0


def encode_note(note: Note) -> bytes:
    fields = {
        "version": 0,
        "topic": note.topic,
        "partition": note.partition,
        "startOffset": note.start_offset,
        "endOffset": note.end_offset,
        "why": note.why,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_note(data: bytes | None) -> Note | None:
    """None where there is none that can be read, as in what Kafka has set aside."""
    try:
        fields = json.loads(data or b"")
        return Note(
            str(fields["topic"]),
            int(fields["partition"]),
            int(fields["startOffset"]),
            int(fields["endOffset"]),
            str(fields["why"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
