"""Looks at a machine's node after each of its turns: whom it leads, how far, and what it went through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.core.metadata.image import Image
from penstock.core.node.node import Node
from penstock.core.partition.partition import Partition as Replica
from penstock.sim.counting import Counting
from penstock.sim.events import Held, Leads, Partition, Watermark, Witness
from penstock.sim.site import Site
from penstock.sim.trace import Trace
from penstock.sim.world import DATA, FIRST

COUNTED: Final = {
    "metadata_elections": "elections",
    "metadata_truncations": "metadata-truncations",
    "metadata_snapshots_installed": "snapshot-loads",
}
"""What a node counts itself, and what it is called in a run."""


class ClusterWatch:
    """One machine under observation."""

    def __init__(self, site: Site, witness: Witness, trace: Trace) -> None:
        self._site = site
        self._witness = witness
        self._trace = trace
        self._node: Node | None = None
        self._life = 0
        self._image = Image()
        self._watermarks: dict[Leads, int] = {}
        self._ends: dict[Partition, int] = {}
        self._counting = Counting(trace, COUNTED)
        site.machine.observers.append(self.look)

    @property
    def number(self) -> int:
        return self._site.number

    @property
    def node(self) -> Node | None:
        """The process, if it serves."""
        node = self._site.node
        return node if isinstance(node, Node) and node.state == "running" else None

    def look(self) -> None:
        node = self.node
        if node is None:
            return
        if node is not self._node:
            self._node, self._life = node, self._life + 1
            self._ends.clear()
        for replica in node.replicas:
            self._look_at(replica, Partition(replica.topic, replica.index))
        self._counting.look(node)
        if node.image is not self._image:
            self._compare(self._image, node.image)
            self._image = node.image

    def end_of(self, partition: Partition) -> int | None:
        """How far the replica here is written; None where there is none."""
        node = self.node
        replicas: Iterable[Replica] = () if node is None else node.replicas
        ends = [each.log.written_offset for each in replicas if (each.topic, each.index) == partition[:2]]
        return ends[0] if ends else None

    def bytes_of(self, partition: Partition) -> bytes:
        """All that the replica here holds, segment after segment."""
        platter, folder = self._site.disk.volume.platter, f"{DATA}/{partition.topic}-{partition.number}"
        names = [entry.name for entry in platter.entries(folder) if entry.name.endswith(".log")]
        return b"".join(bytes(platter.file(f"{folder}/{name}").written) for name in sorted(names))

    # ---- inside

    def _look_at(self, replica: Replica, partition: Partition) -> None:
        end = replica.log.end_offset
        if end < self._ends.get(partition, 0):
            self._trace.counts["truncations"] += 1
        self._ends[partition] = end
        if replica.leads:
            self._look_at_leader(
                Leads(partition, replica.leader_epoch, self.number, self._life), replica.high_watermark
            )

    def _look_at_leader(self, leader: Leads, watermark: int) -> None:
        before = self._watermarks.get(leader)
        if before is None:
            self._witness.see(leader)
        if watermark != before:
            self._watermarks[leader] = watermark
            self._witness.see(Watermark(leader, watermark))

    def _compare(self, before: Image, after: Image) -> None:
        """In-sync sets that shrank are counted at one machine, as each learns of them."""
        if self.number != FIRST:
            return
        for name, topic in after.topics.items():
            old = before.topics.get(name)
            for index in range(0 if old is None else min(len(old), len(topic))):
                assert old is not None
                self._trace.counts["in-sync-shrinks"] += len(topic.partition(index).isr) < len(old.partition(index).isr)


def held(watches: Iterable[ClusterWatch], partition: Partition) -> Held:
    """What all replicas of a partition hold now."""
    found = {watch.number: watch.bytes_of(partition) for watch in watches if watch.end_of(partition) is not None}
    return Held(partition, found)
