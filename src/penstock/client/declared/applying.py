"""Doing what a plan says: first everybody is asked whether it can be done, and only then anything is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.client.declared.change import Change
from penstock.client.declared.marked import FileError
from penstock.client.errors import ClientError


def check_changes(changes: Sequence[Change]) -> None:
    """Raises for the first one that would be refused, and points at what is refused in the file."""
    for change in changes:
        _pointing(change, change.check)


def _pointing(change: Change, act: Callable[[], None]) -> None:
    try:
        act()
    except ClientError as failure:
        mark = change.mark_of(str(failure))
        if mark is None or failure.is_absence:
            raise
        raise FileError(mark, str(failure), failure.hint) from None


def perform_changes(changes: Sequence[Change], tell: Callable[[Change], None]) -> None:
    """`tell` hears of each that is done."""
    for change in changes:
        _pointing(change, change.perform)
        tell(change)
