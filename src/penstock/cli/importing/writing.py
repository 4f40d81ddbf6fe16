"""Writing a data folder of ours: partition folders, the checkpoints they share, the first snapshot of the metadata.

All of it is written beside the folder, and gets its name when it is whole and lasts."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.cli.importing.plan import Copy, FileToTake
from penstock.cli.importing.source import CHECKPOINT_FILES
from penstock.cli.talk import Refused
from penstock.core.base.ports import Steps
from penstock.core.log.checkpoints import Offsets, replace, write_offsets
from penstock.core.log.names import CLEAN_MARK_FILE, METADATA_DIR
from penstock.core.metadata.image import Image
from penstock.core.metadata.storage import META_FILE, Meta, encode_meta
from penstock.core.node.quorum.snapshot_files import SnapshotFiles
from penstock.core.raft.checkpoint import founding_snapshot, snapshot_head
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import LogEnd, SnapshotId
from penstock.core.raft.voters import VoterSet
from penstock.core.sealing.names import holds_records
from penstock.shell.blocking import run_blocking
from penstock.shell.full_sync import sync_path
from penstock.shell.whole_sync import sync_tree

if TYPE_CHECKING:
    from penstock.shell.sealed_paths import Sealing

UNFINISHED = ".importing"


class Target:
    """A data folder that does not exist yet, or is empty."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        if os.path.isdir(self.path) and any(not name.startswith(".") for name in os.listdir(self.path)):
            raise Refused(f"{path} is not empty", "import into a new folder; what is in this one stays as it is")
        # A mount point cannot be given another name: there a folder without meta.properties says that it is not whole.
        self._work = self.path if os.path.ismount(self.path) else self.path + UNFINISHED
        if self._work != self.path and os.path.exists(self._work):
            raise Refused(f"{self._work} is there already", "an import that was ended has left it: remove it")

    def refuse_links_to(self, paths: set[str]) -> None:
        """Links do not cross file systems."""
        ours = os.stat(_existing(self.path)).st_dev
        for path in sorted(paths):
            if os.stat(path).st_dev != ours:
                raise Refused(f"{path} is on another file system than {self.path}", "leave --link out")

    def refuse_too_much(self, size_bytes: int) -> None:
        free_bytes = shutil.disk_usage(_existing(self.path)).free
        if size_bytes > free_bytes:
            raise Refused(
                f"{size_bytes} bytes are to be copied, and there is room for {free_bytes} at {self.path}",
                "choose another place, or share segments with --link where the file system is the same",
            )

    @contextmanager
    def written(self) -> Iterator[str]:
        """A folder to write into; it becomes the target if nothing goes wrong, and vanishes otherwise."""
        os.makedirs(self._work, exist_ok=True)
        try:
            yield self._work
            sync_tree(self._work)
            if self._work != self.path:
                os.rename(self._work, self.path)
            sync_path(os.path.dirname(self.path))
        except BaseException:
            _empty(self._work)
            if self._work != self.path:
                os.rmdir(self._work)
            raise


def write_partitions(folder: str, copies: list[Copy], link: bool, sealing: Sealing | None) -> None:
    for copy in copies:
        target = os.path.join(folder, f"{copy.key[0]}-{copy.key[1]}")
        os.mkdir(target)
        for file in copy.files:
            _take(copy.path, target, file, link, sealing)
    for name in CHECKPOINT_FILES:
        offsets: Offsets = {}
        for copy in copies:
            known = copy.source.checkpoints[name].get(copy.key)
            if known is not None:
                offsets[copy.key] = known
        run_blocking(write_offsets(os.path.join(folder, name), offsets))
    if all(copy.source.is_clean for copy in copies):
        with open(os.path.join(folder, CLEAN_MARK_FILE), "w", encoding="utf-8") as mark:
            # No process of ours vouches for it: a broker epoch of -1.
            mark.write('{"version":0,"brokerEpoch":-1}')


def _take(source: str, target: str, file: FileToTake, link: bool, sealing: Sealing | None) -> None:
    before, after = os.path.join(source, file.name), os.path.join(target, file.name)
    if link and file.is_final:
        os.link(before, after)
    elif sealing is not None and holds_records(file.name) and file.size_bytes:
        from penstock.shell.resealing import copy

        copy(before, after, sealing())
    else:
        shutil.copy2(before, after)
        os.chmod(after, 0o644)


def write_metadata(folder: str, image: Image, end: LogEnd, voters: VoterSet | None, sealing: Sealing | None) -> None:
    """The image as a snapshot, with the voters if they are kept there: the log goes on where theirs ended."""
    path = os.path.join(folder, METADATA_DIR)
    os.makedirs(path)
    now_ms = time.time_ns() // 1_000_000
    snapshot_id = SnapshotId(end.offset, end.epoch)
    history = VoterHistory()
    if voters is not None:
        history.load_snapshot(end.offset, founding_snapshot(voters, now_ms))
    head = snapshot_head(history, snapshot_id, now_ms, now_ms)
    run_blocking(SnapshotFiles(path).write(snapshot_id, head, image, now_ms), sealing)


def write_owner(folder: str, meta: Meta) -> None:
    run_blocking(_owner(folder, meta))


def _owner(folder: str, meta: Meta) -> Steps[None]:
    yield from replace(os.path.join(folder, META_FILE), encode_meta(meta))


def _existing(path: str) -> str:
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path


def _empty(folder: str) -> None:
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
