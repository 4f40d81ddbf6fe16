"""What a person is told of folders that were set aside: one line for all that are found together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.core.base.ports import FileFailure
from penstock.core.log.deferred_delete import DeferredDelete, Leaving
from penstock.core.log.log import Log

NAMES_MAX: Final = 5
ADVICE: Final = "look with `penstock storage stray list`"

Say = Callable[[str, str, str], None]


class StrayReports:
    """Speaks for one data folder."""

    def __init__(self, root: str, deferred_delete: DeferredDelete, say: Say) -> None:
        self._root = root
        self._deferred_delete = deferred_delete
        self._say = say
        deferred_delete.on_left_behind = self._left_behind
        deferred_delete.on_set_aside = self._set_aside

    def count(self) -> None:
        """At the start: what earlier processes have set aside."""
        if self._deferred_delete.strays:
            count = len(self._deferred_delete.strays)
            self._say(
                "warning", "storage", f"{self._root} has {count} partition(s) set aside by earlier starts; {ADVICE}"
            )

    def _set_aside(self, leaving: list[Leaving]) -> None:
        names = [f"{log.topic}-{log.partition}" for log, _ in leaving]
        more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
        note = leaving[0].note
        why = "" if note is None else note.why
        self._say(
            "warning",
            "storage",
            f"set aside, not deleted: {len(names)} partition(s) in {self._root} with records that have no place here "
            f"({', '.join(names[:NAMES_MAX])}{more}: {why}); {ADVICE}",
        )

    def _left_behind(self, log: Log, failure: FileFailure) -> None:
        self._say("error", "storage", f"{log.dir} belongs to nobody, and cannot be removed or set aside: {failure}")
