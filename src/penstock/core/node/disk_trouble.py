"""What a node does when its disk fails it.

A write that failed was undone, and the next one may succeed. After a failed sync nobody knows what the disk holds, so
the node goes: others lead instead of one that is gone, never instead of one that only takes nothing any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.core.base.ports import FileFailure
from penstock.core.base.steps import expect_no_mistake
from penstock.core.log.durable import SyncFailed
from penstock.core.log.log import Log

if TYPE_CHECKING:
    from penstock.core.node.node import Node

TELL_AGAIN_MS: Final = 60_000
"""Whoever tries again and again is not told of each time."""


class DiskTrouble:
    """Told by the logs of a node, and by whoever syncs anything else in its folder."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._told_ms: int | None = None

    def write_lost(self, log: Log, failure: FileFailure) -> None:
        """That the disk is full is said elsewhere, where it is known for how long."""
        node = self._node
        if node.disk_full or (self._told_ms is not None and node.now_ms - self._told_ms < TELL_AGAIN_MS):
            return
        self._told_ms = node.now_ms
        node.log("error", f"a write to {log.dir} failed and was undone: {failure.message}")

    def sync_failed(self) -> None:
        """Nobody may vouch for what this process has written."""
        if self._node.state != "failed":
            self._node.tasks.run(self._node.lineage.doubt(), self._node.started)

    def log_failed(self, log: Log, failure: FileFailure) -> None:
        """A log takes nothing any more. Where there was no room to write something, nothing is in doubt."""
        node = self._node
        if failure.lacks_room and not isinstance(failure, SyncFailed):
            node.log("error", f"{log.dir} takes no writes until this node is started again: {failure.message}")
        elif node.state in ("starting", "running"):
            node.tasks.run(node.lineage.doubt(), lambda outcome: self._give_up(log, failure, outcome))

    def _give_up(self, log: Log, failure: FileFailure, outcome: object) -> None:
        expect_no_mistake(outcome)
        if self._node.state != "failed":
            self._node.fail(
                f"the disk has failed {log.dir}: {failure.message}; nobody knows what it has kept, so this node stops: "
                "look after the disk, then start it again"
            )
