"""A group as those see it who do not care of which kind it is: its offsets, and who lists or deletes it."""

from __future__ import annotations

from typing import ClassVar, Protocol


class Group(Protocol):
    """Every group has an id, is of a kind, and may have members."""

    kind: ClassVar[str]
    """The name that clients see."""
    group_id: str
    expires: ClassVar[bool]
    """Whether it goes by itself when nobody is in it and no offsets are left."""

    @property
    def size_bytes(self) -> int:
        """What its members say of themselves, and are given."""
        ...

    @property
    def is_empty(self) -> bool: ...

    def check_offset_delete(self) -> None:
        """Raise ApiError where offsets may not be deleted now."""

    def check_delete(self) -> None:
        """Raise ApiError where the group may not be deleted now."""

    def is_subscribed_to(self, topic: str) -> bool: ...

    def offset_age_begins_ms(self, committed_ms: int) -> int | None:
        """From when the retention of an offset counts; None: it does not expire now."""
