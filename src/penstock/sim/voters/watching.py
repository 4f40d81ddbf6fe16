"""Looks at a voter after each of its turns, and tells what has changed."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.metadata.image import GROUP_RESOURCE, Image, resource_key
from penstock.core.node.node import Node
from penstock.core.node.quorum.quorum import Quorum
from penstock.core.raft.ids import ReplicaKey
from penstock.core.raft.leader import LeaderState
from penstock.sim.counting import Counting
from penstock.sim.site import Site
from penstock.sim.trace import Trace
from penstock.sim.voters.court import Court
from penstock.sim.voters.events import Commits, Keys, Leads

_PREFIX = resource_key(GROUP_RESOURCE, "")
_COUNTED = {
    "metadata_elections": "elections",
    "metadata_truncations": "truncations",
    "metadata_snapshots_installed": "snapshot-loads",
}


class Watch:
    """One machine under observation; whoever wants to know is told for whom it votes."""

    def __init__(self, site: Site, court: Court, trace: Trace) -> None:
        self._site = site
        self._court = court
        self._node: Node | None = None
        self._life = 0
        self._epoch = -1
        self._image: Image | None = None
        self._voted: ReplicaKey | None = None
        self._counting = Counting(trace, _COUNTED)
        self.on_vote: Callable[[int], None] = lambda candidate: None
        site.machine.observers.append(self.look)

    @property
    def node(self) -> Node | None:
        """The process, if it has come so far that it takes part."""
        node = self._site.node
        return node if isinstance(node, Node) and node.has_quorum else None

    @property
    def leads(self) -> bool:
        node = self.node
        return node is not None and node.state == "running" and node.quorum.leads

    @property
    def offset(self) -> int:
        """How far this process has come."""
        node = self.node
        return -1 if node is None or node.state != "running" else node.image.offset

    def look(self) -> None:
        node = self.node
        if node is None:
            return
        if node is not self._node:
            self._node, self._life = node, self._life + 1
            self._epoch, self._image = -1, None
        self._look_at(node.quorum)
        self._counting.look(node)

    def _look_at(self, quorum: Quorum) -> None:
        election = quorum.raft.election
        if election.voted != self._voted:
            self._voted = election.voted
            if election.voted is not None:
                self.on_vote(election.voted.id)
        if isinstance(quorum.raft.role, LeaderState) and election.epoch != self._epoch:
            self._epoch = election.epoch
            self._court.see(Leads(self._site.number, self._life, election.epoch))
        image = quorum.committed_image
        if image is not self._image:
            self._image = image
            self._court.see(Commits(self._site.number, self._life, image.offset, keys_of(image)))


def keys_of(image: Image) -> Keys:
    return frozenset(key.removeprefix(_PREFIX) for key in image.configs if key.startswith(_PREFIX))
