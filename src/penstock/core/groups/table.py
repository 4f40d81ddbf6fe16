"""The groups of a shard by id, whatever their kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

from penstock.core.groups.group import Group

GROUPS_PER_TURN_MAX: Final = 500
"""Groups that are looked at before others get their turn: some milliseconds of work."""

G = TypeVar("G", bound=Group)


class GroupTable(dict[str, Group]):
    """An id belongs to one kind at a time."""

    def find(self, kind: type[G], group_id: str) -> G | None:
        """The group, if it is there and of this kind."""
        group = self.get(group_id)
        return group if isinstance(group, kind) else None

    def put(self, group: Group) -> None:
        """It takes the place of what had its id before: an older state of the group, or a group of offsets only, which
        any kind may become."""
        self[group.group_id] = group

    def slices(self) -> Iterator[list[str]]:
        """The ids of the groups that are there now, so many at a time; some may be gone when their turn comes."""
        group_ids = list(self)
        for at in range(0, len(group_ids), GROUPS_PER_TURN_MAX):
            yield group_ids[at : at + GROUPS_PER_TURN_MAX]
