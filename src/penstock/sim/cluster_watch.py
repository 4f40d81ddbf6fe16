"""Looks at a machine's node after each of its turns: whom it leads, how far, and what it went through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.core.log.log import Log
from penstock.core.log.names import DELETED_DIR, parse_folder
from penstock.core.metadata.image import Image, PartitionImage
from penstock.core.node.membership.broker_lifecycle import BrokerLifecycle, State
from penstock.core.node.node import Node
from penstock.core.partition.partition import Partition as Replica
from penstock.core.partition.replicated import ReplicatedLeader
from penstock.core.raft.leader import LeaderState
from penstock.core.records.batch import iterate_headers
from penstock.sim.cluster_overview import Overview
from penstock.sim.counting import Counting
from penstock.sim.digest import digest_of
from penstock.sim.events import Discarded, Held, Leads, Partition, Published, Trusts, Watermark, Witness
from penstock.sim.site import Site
from penstock.sim.trace import Trace
from penstock.sim.transactions.events import StableEnd
from penstock.sim.world import DATA

COUNTED: Final = {
    "metadata_elections": "elections",
    "metadata_truncations": "metadata-truncations",
    "metadata_snapshots_installed": "snapshot-loads",
}
"""What a node counts itself, and what it is called in a run."""
TOPIC_ID_BYTES: Final = 16
METADATA: Final = Partition("__cluster_metadata", 0)


class ClusterWatch:
    """One machine under observation."""

    def __init__(self, site: Site, overview: Overview, witness: Witness, trace: Trace) -> None:
        self._site = site
        self._overview = overview
        self._witness = witness
        self._trace = trace
        self._node: Node | None = None
        self._life = 0
        self._image = Image()
        self._role: object = None
        self._states: dict[Replica, tuple[int, int, int]] = {}
        self._led: dict[tuple[Replica, int], Leads] = {}
        self._ends: dict[Log, int] = {}
        self.chained: frozenset[str] = frozenset()
        """Topics of whose transactions it tells."""
        self._counting = Counting(trace, COUNTED)
        overview.add(self)
        site.machine.observers.append(self.look)
        site.disk.volume.on_folder_renamed = self._folder_renamed

    @property
    def number(self) -> int:
        return self._site.number

    @property
    def node(self) -> Node | None:
        """The process, if it serves."""
        node = self._site.node
        return node if isinstance(node, Node) and node.state == "running" else None

    @property
    def serves(self) -> bool:
        return self.node is not None

    def look(self) -> None:
        node = self.node
        if node is None:
            return
        is_new = node is not self._node
        if is_new:
            self._begin(node)
        # Most of all this has not moved, and it is looked at after every turn.
        raft, image = node.quorum.raft, node.image
        role = raft.role
        if role is not self._role:
            self._role = role
            if isinstance(role, LeaderState):
                self._witness.see(Leads(METADATA, raft.election.epoch, self.number, self._life))
        if image is not self._image:
            self._image = image
            self._counting.look(node)
            self._witness.see(Published(self.number, self._life, image.offset, digest_of(image)))
            self._overview.published(image)
        if self._overview.has_fenced(self.number, image) and _trusts(node.cluster.broker_lifecycle):
            self._witness.see(Trusts(self.number, self._life))
        states = self._states
        for replicas in node.replicas.by_id.values():
            for replica in replicas.values():
                if states.get(replica) != (replica.log.end_offset, replica.high_watermark, replica.leader_epoch):
                    self._look_at(replica)
        if is_new:
            self._overview.came(self.number)

    def end_of(self, partition: Partition) -> int | None:
        """How far the replica here is written; None where there is none. A process that is not in its own image yet has
        given its logs no roles."""
        replica, node = self._find(partition), self.node
        if replica is not None or node is None:
            return None if replica is None else replica.log.written_offset
        log = node.replicas._directory.logs.get((partition.topic, partition.number))
        return None if log is None else log.written_offset

    def committed(self, partition: Partition, known: PartitionImage) -> int | None:
        """What the replica here takes for committed, if it leads in this epoch, and knows of no newer set in sync: the
        controller's answer may come before anybody acts on what it has decided."""
        replica = self._find(partition)
        if replica is None or not replica.leads or replica.leader_epoch != known.leader_epoch:
            return None
        if isinstance(replica, ReplicatedLeader) and replica.in_sync.partition_epoch > known.partition_epoch:
            return None
        return replica.high_watermark

    def stable_end(self, partition: Partition) -> tuple[int, int] | None:
        """How far all is decided, and committed, as the leader here has it; None where none leads."""
        replica = self._find(partition)
        if replica is None or not replica.leads:
            return None
        return replica.last_stable_offset, replica.high_watermark

    @property
    def newest(self) -> Image:
        return self._overview.newest

    def bytes_of(self, partition: Partition) -> bytes:
        """All that the replica here holds from its start on, segment after segment. What lies below, nobody is shown:
        it may be from a term that was overruled, when the leader had forgotten how that ended."""
        platter, folder = self._site.disk.volume.platter, f"{DATA}/{partition.topic}-{partition.number}"
        names = [entry.name for entry in platter.entries(folder) if entry.name.endswith(".log")]
        data = b"".join(bytes(platter.file(f"{folder}/{name}").written) for name in sorted(names))
        replica = self._find(partition)
        start_offset = 0 if replica is None else replica.log.start_offset
        shown = (position for position, header in iterate_headers(data) if header.next_offset > start_offset)
        return data[next(shown, len(data)) :]

    # ---- inside

    def _folder_renamed(self, path: str, new_path: str) -> None:
        """What is to be deleted gets a name that says so, with the id of its topic."""
        found = parse_folder(path.rpartition("/")[2])
        if found is None or not new_path.endswith(DELETED_DIR):
            return
        entries = self._site.disk.volume.platter.entries(path)
        if any(entry.size for entry in entries if entry.name.endswith(".log")):
            topic_id = bytes.fromhex(new_path.rpartition(".")[2][: 2 * TOPIC_ID_BYTES])
            self._witness.see(Discarded(path, self.number, self._is_told_to_delete(topic_id, found[1])))

    def _is_told_to_delete(self, topic_id: bytes, index: int) -> bool:
        node = self._site.node
        topic = node.image.topic_by_id(topic_id) if isinstance(node, Node) else None
        if topic is None:
            return topic_id in self._overview.removed_ids
        return index < len(topic) and self.number not in topic.replicas[index]

    def _begin(self, node: Node) -> None:
        """Another process: what the one before knew counts no more."""
        self._node, self._life, self._image, self._role = node, self._life + 1, Image(), None
        for kept in (self._states, self._led, self._ends):
            kept.clear()

    def _find(self, partition: Partition) -> Replica | None:
        node = self.node
        replica = None if node is None else node.replicas.get(partition.topic, partition.number)
        return replica if replica is not None and self._name(replica) == partition else None

    def _name(self, replica: Replica) -> Partition:
        return self._overview.name(replica.topic, replica.topic_id, replica.index)

    def _look_at(self, replica: Replica) -> None:
        end, watermark = replica.log.end_offset, replica.high_watermark
        _, *before = self._states.get(replica, (0,))
        self._states[replica] = (end, watermark, replica.leader_epoch)
        self._trace.counts["truncations"] += end < self._ends.get(replica.log, 0)
        self._ends[replica.log] = end
        if replica.leads and before != [watermark, replica.leader_epoch]:
            self._look_at_leader(replica, watermark)

    def _look_at_leader(self, replica: Replica, watermark: int) -> None:
        term = replica, replica.leader_epoch
        leader = self._led.get(term)
        if leader is None:
            leader = self._led[term] = Leads(self._name(replica), replica.leader_epoch, self.number, self._life)
            self._witness.see(leader)
        self._witness.see(Watermark(leader, watermark))
        if replica.topic in self.chained:
            self._witness.see(StableEnd(leader.partition, self.number, replica.last_stable_offset))
        self._overview.advanced(leader)


def _trusts(broker_lifecycle: BrokerLifecycle) -> bool:
    """Whether a broker would take its own word for who leads. One that leaves knows that it will be fenced."""
    return broker_lifecycle.holds_lease() and broker_lifecycle.state is not State.LEAVING


def held(watches: Iterable[ClusterWatch], partition: Partition, forgets: bool) -> Held:
    """What all replicas of a partition hold now."""
    found = {watch.number: watch.bytes_of(partition) for watch in watches if watch.end_of(partition) is not None}
    return Held(partition, found, forgets)
