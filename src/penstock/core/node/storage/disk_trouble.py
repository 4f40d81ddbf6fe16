"""What a node does when its disk fails it.

A write that failed was undone, and the next one may succeed, unless the disk says that it is at its end. Then, and
after a failed sync, nobody knows what it holds, so the node goes: others lead instead of one that is gone, never
instead of one that only takes nothing any more.
"""

from __future__ import annotations

from typing import Final

from penstock.core.base.ports import FileFailure, Steps
from penstock.core.base.steps import expect_no_mistake
from penstock.core.log.damage import Damage, refuse_untorn
from penstock.core.log.durable import SyncFailed
from penstock.core.log.log import Log
from penstock.core.log.segment import Segment
from penstock.core.node.storage.ports import StorageHost

_WHAT_TO_DO: Final = (
    "nothing was cut; if another replica leads it, this one takes what is lost from there, else stop this node and run "
    "`penstock storage repair`"
)


class DiskTrouble:
    """Told by the logs of a node, and by whoever syncs anything else in its folder."""

    def __init__(self, node: StorageHost) -> None:
        self._node = node

    def damage_found(self, damage: Damage) -> Steps[None]:
        """A log that is opened does not check. What only a crash can have torn is cut off; nothing else is, before a
        person says so or another replica has it."""
        if damage.can_be_torn:
            self._node.log("warning", "storage", f"{damage.name} was cut after a crash, in {damage.what}")
        else:
            self._node.log("error", "storage", f"{damage.name} is offline: damaged in {damage.what}; {_WHAT_TO_DO}")
        yield from refuse_untorn(damage)

    def damage_cut(self, damage: Damage, leader: int) -> None:
        """Another replica has what was lost."""
        self._node.log(
            "warning", "storage", f"{damage.name} was cut, in {damage.what}: it comes again from node {leader}"
        )

    def index_rebuilt(self, log: Log, segment: Segment) -> None:
        """An index did not say where its segment's batches are."""
        self._node.metrics.indexes_rebuilt += 1
        self._node.log("warning", "storage", f"the index beside {segment.log.path} was wrong and is made anew")

    def gap_found(self, log: Log, offset: int) -> None:
        """A batch had rotted: it stood further on than it was written, and was cut off there with what was below."""
        text = f"{log.topic}-{log.partition} is damaged: what came from offset {log.end_offset} to {offset - 1} is not"
        self._node.log("warning", "storage", f"{text} where it was, in {log.active.log.path}, and comes again")

    def write_lost(self, log: Log, failure: FileFailure) -> None:
        """That the disk is full is said elsewhere, where it is known for how long."""
        node = self._node
        if failure.is_disks_end:
            self.log_failed(log, failure)
            return
        if not node.disk_full:
            text = f"a write to {log.dir} failed and was undone: {failure.message}"
            node.log("error", "disk", text, kind="write-undone")

    def disk_failed(self) -> None:
        """Nobody may vouch for what this process has written."""
        # What cannot be taken back on a disk that refuses it fails as well, and says nothing new.
        if self._node.state != "failed" and not self._node.lineage.is_doubtful:
            self._node.tasks.run(self._node.lineage.doubt(), self._node.started)

    def log_failed(self, log: Log, failure: FileFailure) -> None:
        """A log takes nothing any more. Where there was no room to write something, nothing is in doubt."""
        node = self._node
        if failure.lacks_room and not isinstance(failure, SyncFailed):
            text = f"{log.dir} takes no writes until this node is started again: {failure.message}"
            node.log("error", "disk", text)
        elif node.state in ("starting", "running"):
            node.tasks.run(node.lineage.doubt(), lambda outcome: self._give_up(log, failure, outcome))

    def _give_up(self, log: Log, failure: FileFailure, outcome: object) -> None:
        expect_no_mistake(outcome)
        if self._node.state != "failed":
            self._node.fail(
                f"the disk has failed {log.dir}: {failure.message}; nobody knows what it has kept, so this node stops: "
                "look after the disk, then start it again"
            )
