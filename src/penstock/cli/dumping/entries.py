"""What stands beside the batches: entries of indexes, snapshots of producers, leader epochs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import Struct
from typing import Any, Final

from penstock.cli.dumping.files import files_of, mapped
from penstock.core.base.ports import Buffer
from penstock.core.log import offset_index, snapshots, time_index, txn_index
from penstock.core.log.names import EPOCHS_FILE, INDEX, SNAPSHOT, TIME_INDEX, TXN_INDEX

Facts = dict[str, Any]


def entries_of(folder: str) -> Iterator[Facts]:
    """One after the other, each with its file and its kind."""
    for kind, read in _READERS.items():
        for name in files_of(folder, kind):
            base = int(name.partition(".")[0])
            with mapped(os.path.join(folder, name)) as data:
                for facts in read(data, base):
                    yield {"file": name, **facts}
    yield from _epochs(Path(folder, EPOCHS_FILE))


def _rows(form: Struct, data: Buffer) -> Iterator[tuple[Any, ...]]:
    """Whole entries. What follows them was never finished, or is room that Kafka has made beforehand."""
    return form.iter_unpack(memoryview(data)[: len(data) // form.size * form.size])


def _offsets(data: Buffer, base: int) -> Iterator[Facts]:
    for relative, position in _rows(offset_index.ENTRY, data):
        yield {"kind": "offset", "offset": base + relative, "position": position}


def _times(data: Buffer, base: int) -> Iterator[Facts]:
    for timestamp, relative in _rows(time_index.ENTRY, data):
        yield {"kind": "time", "timestamp": timestamp, "offset": base + relative}


def _aborted(data: Buffer, _: int) -> Iterator[Facts]:
    for aborted in txn_index.decode(data):
        yield {"kind": "aborted", **aborted._asdict()}


def _producers(data: Buffer, _: int) -> Iterator[Facts]:
    try:
        for producer_id, producer in snapshots.decode(bytes(data)).items():
            yield {
                "kind": "producer",
                "producer_id": producer_id,
                "epoch": producer.epoch,
                "last_sequence": producer.last_sequence,
                "last_offset": producer.last_offset,
                "open_transaction_at": producer.transaction_offset,
            }
    except snapshots.CorruptSnapshot as damage:
        yield {"kind": "producer", "damage": str(damage)}


_READERS: Final[dict[str, Callable[[Buffer, int], Iterator[Facts]]]] = {
    INDEX: _offsets,
    TIME_INDEX: _times,
    TXN_INDEX: _aborted,
    SNAPSHOT: _producers,
}


def _epochs(path: Path) -> Iterator[Facts]:
    """Lines of an epoch and the offset it began at, behind a version and a count."""
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    for line in lines:
        epoch, _, offset = line.partition(" ")
        if epoch.isdecimal() and offset.isdecimal():
            yield {"file": path.name, "kind": "epoch", "epoch": int(epoch), "offset": int(offset)}
