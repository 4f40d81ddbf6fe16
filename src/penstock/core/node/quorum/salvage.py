"""Who votes, as far as a damaged folder of the metadata log still says."""

from __future__ import annotations

from penstock.core.base.ports import Entry, File, ListDir, Pause, Steps
from penstock.core.log.names import LOG, parse_file
from penstock.core.log.scan import read_chunk
from penstock.core.metadata.storage import StorageError
from penstock.core.node.quorum.snapshot_files import SnapshotFiles
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.voters import VoterSet
from penstock.core.records import checksum
from penstock.core.records.batch import iterate_headers
from penstock.core.records.errors import CorruptBatch


def known_voters(folder: str, static: VoterSet) -> Steps[VoterHistory]:
    """What the newest snapshot that is whole says, and each log file as far as it can be read."""
    history = VoterHistory(static)
    files = SnapshotFiles(folder)
    end_offset = 0
    for snapshot in reversed((yield from files.find())):
        try:
            loaded = yield from files.load(snapshot)
        except StorageError:
            continue
        end_offset = snapshot.id.end_offset
        history.load_snapshot(end_offset, loaded.controls)
        break
    entries: list[Entry] = yield ListDir(folder)
    for entry in sorted(entries, key=lambda each: each.name):
        name = parse_file(entry.name)
        if name is not None and name.kind == LOG and not name.stage:
            yield from _fold(File(f"{folder}/{entry.name}"), entry.size, end_offset, history)
    return history


def _fold(file: File, size_bytes: int, since: int, history: VoterHistory) -> Steps[None]:
    position = 0
    while position < size_bytes:
        data, before = (yield from read_chunk(file, position, size_bytes)), position
        try:
            for at, header in iterate_headers(data, partial_tail=True):
                if not checksum.is_valid(data, at, header):
                    return
                if header.is_control and header.base_offset >= since:
                    history.fold(data[at : at + header.size])
                position += header.size
        except CorruptBatch:
            return
        if position == before:
            return
        yield Pause()
