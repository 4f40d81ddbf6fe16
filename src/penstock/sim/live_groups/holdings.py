"""What one process of a live group takes for its own, and who holds what among all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from penstock.core.base.errors import ErrorCode
from penstock.sim.clients.client import Client
from penstock.sim.clients.offsets import Membership, Offsets
from penstock.sim.events import Partition
from penstock.sim.live_groups.events import Committed, Gave, Heard, Leaving, Took
from penstock.sim.scheduler import EPOCH_MS, MS
from penstock.sim.script import Script

NOT_READ = -1


class Holdings:
    """One process': each partition with the offset that it has come to."""

    def __init__(self, client: Client, offsets: Offsets, group: str, member: str, board: Board) -> None:
        self._client = client
        self._offsets = offsets
        self._group = group
        self._member = member
        self._board = board
        self.positions: dict[Partition, int] = {}

    @property
    def now_ms(self) -> int:
        return EPOCH_MS + self._client.world.scheduler.now_us // MS

    def heard(self, sent_ms: int) -> None:
        """A coordinator takes it for a member."""
        self._client.world.witness.see(Heard(self._group, self._member, sent_ms))

    def be(self, partitions: Iterable[Partition], epoch: int, asked_ms: int, *, is_classic: bool) -> None:
        """These are its own from now on. What it has been given again it is told to have in another epoch."""
        told = tuple(sorted(partitions))
        self.keep(told)
        self._board.take(set(told) - self.positions.keys(), is_classic)
        self.positions = {each: self.positions.get(each, NOT_READ) for each in told}
        took = Took(self._group, self._member, epoch, told, asked_ms)
        self._client.world.witness.see(took)

    def keep(self, partitions: Iterable[Partition] = ()) -> None:
        """Read nothing but these from now on."""
        kept = set(partitions)
        given = tuple(each for each in self.positions if each not in kept)
        if given:
            self._board.give(given)
            self._client.world.witness.see(Gave(self._group, self._member, given))
            self.positions = {each: at for each, at in self.positions.items() if each in kept}

    def leave(self) -> None:
        """It reads nothing any more, and is about to say so."""
        self.keep()
        self._client.world.witness.see(Leaving(self._group, self._member))

    def go_on(self, member_id: str, epoch: int) -> Script[int]:
        """Read on in one of its partitions, and commit that. Gives the error code."""
        if not self.positions:
            return ErrorCode.NONE
        partition = self._client.chance.pick(sorted(self.positions))
        if self.positions[partition] == NOT_READ:
            found, code = yield from self._offsets.read(self._group, partition)
            if code or partition not in self.positions:
                return code
            self.positions[partition] = max(found, 0)
        offset, sent_ms = self.positions[partition] + 1, self.now_ms
        code = yield from self._offsets.commit(Membership(self._group, member_id, epoch), partition, offset)
        if code == ErrorCode.NONE:
            self._client.world.witness.see(Committed(self._group, self._member, partition, sent_ms))
            self.positions[partition] = offset
        return code


class Board:
    """How many hold each partition."""

    def __init__(self, partitions: Iterable[Partition], counts: Counter[str]) -> None:
        self._partitions = frozenset(partitions)
        self._counts = counts
        self._was_classic: dict[Partition, bool] = {}
        self._holders: Counter[Partition] = Counter()

    @property
    def is_settled(self) -> bool:
        """Whether each partition has one holder."""
        return all(self._holders[each] == 1 for each in self._partitions)

    def take(self, partitions: Iterable[Partition], is_classic: bool) -> None:
        """A partition that goes from one protocol to the other is of a group in which there were both."""
        for each in partitions:
            self._holders[each] += 1
            self._counts["live-group-takes"] += 1
            self._counts["live-group-changes"] += self._was_classic.get(each, is_classic) != is_classic
            self._was_classic[each] = is_classic

    def give(self, partitions: Iterable[Partition]) -> None:
        self._holders.subtract(partitions)
