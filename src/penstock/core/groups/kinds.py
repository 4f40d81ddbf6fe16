"""What every kind of group offers to those who do not care which kind it is: offsets, listing, deletion.

Classic groups are the first kind. Consumer and share groups stand beside them, each in a package of its own, and are
told apart only by `kind` and by the requests that belong to them.
"""

from __future__ import annotations

from typing import ClassVar, Protocol


class Group(Protocol):
    """A group as its offsets see it."""

    kind: ClassVar[str]
    group_id: str

    @property
    def is_empty(self) -> bool: ...

    def check_offset_delete(self) -> None:
        """Raise ApiError where offsets may not be deleted now."""

    def check_delete(self) -> None:
        """Raise ApiError where the group may not be deleted now."""

    def is_subscribed_to(self, topic: str) -> bool: ...

    def offset_age_begins_ms(self, committed_ms: int) -> int | None:
        """From when the retention of an offset counts; None: it does not expire now."""
