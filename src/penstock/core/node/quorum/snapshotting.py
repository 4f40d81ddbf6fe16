"""When a snapshot of the metadata is made: after so many bytes of records, or some time after anything new."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.ports import Steps
from penstock.core.log.log import Log
from penstock.core.metadata.image import Image
from penstock.core.node.deadlines import Deadline
from penstock.core.node.quorum.driver import RaftDriver
from penstock.core.node.quorum.ports import QuorumHost
from penstock.core.node.quorum.snapshot_files import SnapshotFiles
from penstock.core.raft.checkpoint import snapshot_head
from penstock.core.raft.ids import Snapshot, SnapshotId


class Snapshotting:
    """Counts what is new since the last snapshot, and makes the next one when it is due."""

    def __init__(
        self,
        node: QuorumHost,
        log: Log,
        files: SnapshotFiles,
        driver: RaftDriver,
        newest: SnapshotId,
        committed: Callable[[], Image],
    ) -> None:
        self._node = node
        self._log = log
        self._files = files
        self._driver = driver
        self._committed = committed
        self._new_bytes = 0
        self._timestamp_ms = -1
        self._newest = newest
        self._deadline: Deadline | None = None
        self._is_old = False
        self._is_making = False

    def loaded(self, snapshot_id: SnapshotId) -> None:
        """The image is that of a snapshot."""
        self._newest = snapshot_id
        self._restart()

    def count(self, size_bytes: int, timestamp_ms: int) -> None:
        """So much was folded; the last record of it is of that time."""
        self._new_bytes += size_bytes
        self._timestamp_ms = max(self._timestamp_ms, timestamp_ms)

    def consider(self, image: Image) -> None:
        """Make a snapshot of a committed image, if it is time for one."""
        end_offset = image.offset + 1
        if self._is_making or end_offset <= max(self._newest.end_offset, self._driver.raft_log.start_offset):
            return
        if end_offset > self._driver.raft.high_watermark:
            # A lone voter has folded its log before its Raft has counted it.
            return
        settings = self._node.settings
        if self._is_old or self._new_bytes >= settings["metadata.log.max.record.bytes.between.snapshots"]:
            self._make(image, end_offset)
        elif self._deadline is None and (interval_ms := settings["metadata.log.max.snapshot.interval.ms"]) > 0:
            self._deadline = self._node.deadlines.at(self._node.now_ms + interval_ms, self._come_of_age)

    def _come_of_age(self) -> None:
        self._deadline = None
        self._is_old = True
        self.consider(self._committed())

    def _restart(self) -> None:
        self._new_bytes = 0
        self._is_old = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _make(self, image: Image, end_offset: int) -> None:
        raft, now_ms = self._driver.raft, self._node.now_ms
        snapshot_id = raft.snapshot_id(end_offset)
        head = snapshot_head(raft.voters, snapshot_id, self._timestamp_ms, now_ms)
        self._is_making = True
        self._restart()
        self._node.tasks.run(self._write(snapshot_id, head, image), self._made)

    def _write(self, snapshot_id: SnapshotId, head: bytearray, image: Image) -> Steps[Snapshot]:
        """The log goes on in a new file, so that the old one can go as a whole with the snapshot after the next."""
        log = self._log
        if log.blocked is None and log.active.size_bytes:
            log.roll(self._node.now_ms)
        return (yield from self._files.write(snapshot_id, head, image, self._node.now_ms))

    def _made(self, outcome: Snapshot | Exception) -> None:
        self._is_making = False
        if isinstance(outcome, Exception):
            self._node.log("warning", "quorum", f"no snapshot of the metadata was made: {outcome}")
            return
        self._newest = max(self._newest, outcome.id)
        self._node.log("debug", "quorum", f"a snapshot holds the metadata up to offset {outcome.id.end_offset - 1}")
        self._driver.made(outcome)
