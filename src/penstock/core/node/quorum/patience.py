"""Steps that outlast a full disk: they stop at an operation that found no room, and go on with that same one."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from penstock.core.base.ports import FileFailure, FileOp, Steps
from penstock.core.base.steps import SYNCS

T = TypeVar("T")


class Patient(Generic[T]):
    """Only for steps that rename, remove, cut and make files: what was half written could not be written again. A sync
    that failed is no matter of room."""

    def __init__(self, steps: Steps[T]) -> None:
        self._steps = steps
        self._op: FileOp | None = None

    def go_on(self) -> Steps[T]:
        """From the beginning, or from where it stopped; raises where it stops again."""
        try:
            op = next(self._steps) if self._op is None else self._op
            while True:
                self._op = op
                try:
                    result: Any = yield op
                except FileFailure as failure:
                    if failure.lacks_room and not isinstance(op, SYNCS):
                        raise
                    op = self._steps.throw(failure)
                else:
                    op = self._steps.send(result)
        except StopIteration as stop:
            outcome: T = stop.value
            return outcome
