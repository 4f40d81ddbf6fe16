"""What must hold of a quorum whatever happens to it. Each rule is looked at where something could break it."""

from __future__ import annotations

from tests.raft.memory import Entry, MemoryLog


class Violation(AssertionError):
    """A rule was broken; the seed and the world's trace say how."""


class Court:
    """Remembers who led and what was committed, and compares everybody with that."""

    def __init__(self) -> None:
        self._leaders: dict[int, tuple[int, int]] = {}
        self.committed: dict[int, Entry] = {}
        self.acknowledged: dict[int, Entry] = {}
        self.highest_committed = 0
        self._reached: dict[int, int] = {}
        """How far the leader of each epoch was the first to commit."""

    def leads(self, epoch: int, node_id: int, life: int, log: MemoryLog, applied: dict[int, Entry]) -> None:
        """One leader per epoch, in one of its lives, and it has everything that was committed in earlier epochs. Of
        later ones it knows nothing: it may have been away when it won, and read its votes when others had gone on."""
        before = self._leaders.setdefault(epoch, (node_id, life))
        if before != (node_id, life):
            raise Violation(f"epoch {epoch} is led by {before} and by {(node_id, life)}")
        owed = max((offset for earlier, offset in self._reached.items() if earlier < epoch), default=0)
        if log.end_offset < owed:
            raise Violation(f"leader {node_id} of {epoch} ends at {log.end_offset}, not {owed}")
        self._compare(f"leader {node_id} of epoch {epoch}", applied | log.entries(), owed)

    def commits(self, node_id: int, epoch: int, since: int, offset: int, log: MemoryLog) -> dict[int, Entry]:
        """A node that has applied everything before `since` says in an epoch that everything below `offset` is
        committed; gives what that is. Between two committed offsets nothing else can become committed."""
        if offset > log.end_offset:
            raise Violation(f"{node_id} commits {offset} and has {log.end_offset}")
        fresh = {at: entry for at, entry in log.entries(since).items() if since <= at < offset}
        for at in range(since, offset):
            known = self.committed.get(at)
            if known != fresh.get(at) and (known is not None or at < self.highest_committed):
                raise Violation(f"{node_id} commits {fresh.get(at)} at {at}, where {known} is committed")
        self.committed.update(fresh)
        if offset > self.highest_committed:
            # Nobody knows of it before the leader that counts it.
            self.highest_committed = self._reached[epoch] = offset
        return fresh

    def acknowledges(self, offset: int, entry: Entry) -> None:
        if self.committed.get(offset) != entry:
            raise Violation(f"{entry} was acknowledged at {offset}, where {self.committed.get(offset)} is")
        self.acknowledged[offset] = entry

    def compare_all(self, name: str, log: MemoryLog, applied: dict[int, Entry], high_watermark: int) -> None:
        """A log is equal to what is committed up to its own high watermark."""
        held = applied | log.entries()
        self._compare(name, held, min(high_watermark, self.highest_committed))

    def _compare(self, name: str, held: dict[int, Entry], upto: int) -> None:
        for offset, entry in self.committed.items():
            if offset < upto and held.get(offset) != entry:
                raise Violation(f"{name} has {held.get(offset)} at {offset}, where {entry} is committed")
