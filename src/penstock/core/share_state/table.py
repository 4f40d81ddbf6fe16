"""All states of a machine. `replay` is the only writer.

Its keys stand in the order of their snapshots in the log: the first one is what keeps the log from being cut.
"""

from __future__ import annotations

from penstock.core.base.values import replaced
from penstock.core.share_state.batches import UNCHANGED, combined
from penstock.core.share_state.key import SharePartition
from penstock.core.share_state.records import SNAPSHOT, decode_key, decode_snapshot, decode_update
from penstock.core.share_state.state import Kept, ShareState


class ShareStateTable(dict[SharePartition, Kept]):
    """By share partition."""

    def __init__(self) -> None:
        super().__init__()
        self.next_offset = 0
        """After the last record that was taken in."""

    @property
    def needed_from(self) -> int:
        """Before this offset the log has nothing that counts."""
        first = next(iter(self.values()), None)
        return self.next_offset if first is None else first.offset

    @property
    def is_mostly_outdated(self) -> bool:
        """Whether whoever folds the log reads more of what does not count than of what does."""
        return self.next_offset - self.needed_from > 2 * len(self)

    def replay(self, key: bytes, value: bytes | None, offset: int) -> None:
        """Take in a record. What a newer version has written is left alone."""
        self.next_offset = offset + 1
        known = decode_key(key)
        if known is None:
            return
        kind, share = known
        if kind == SNAPSHOT:
            self._snapshot(share, value, offset)
        elif value is not None and (change := decode_update(value)) is not None and share in self:
            self[share] = _changed(self[share], change)

    def _snapshot(self, share: SharePartition, value: bytes | None, offset: int) -> None:
        if value is None:
            self.pop(share, None)
        elif (state := decode_snapshot(value)) is not None:
            before = self.pop(share, None)
            self[share] = Kept(
                state,
                offset,
                0,
                max(state.leader_epoch, before.leader_epoch_seen if before else 0),
                max(state.state_epoch, before.state_epoch_seen if before else 0),
            )


def _changed(kept: Kept, change: ShareState) -> Kept:
    state = kept.state
    start = state.start_offset if change.start_offset == UNCHANGED else change.start_offset
    after = replaced(
        state,
        start_offset=start,
        leader_epoch=state.leader_epoch if change.leader_epoch == UNCHANGED else change.leader_epoch,
        delivery_complete_count=change.delivery_complete_count,
        batches=combined(state.batches, change.batches, start),
    )
    seen = max(kept.leader_epoch_seen, change.leader_epoch)
    return Kept(after, kept.offset, kept.updates + 1, seen, kept.state_epoch_seen)
