"""Steps: multi-step file work written as one straight generator, driven without recursion.

A generator yields operation values and is resumed with their results. Whether an operation finishes at once or
later is the world's affair: the same code runs in production, where page-cache reads finish inline, and in the
simulator, where each operation takes its seeded time and a crash may fall between any two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from penstock.core.base.ports import (
    LATER,
    Done,
    FileFailure,
    FileOp,
    Files,
    Pause,
    Steps,
    Sync,
    SyncDir,
    SyncTree,
    Together,
)

T = TypeVar("T")
SYNCS: Final = (Sync, SyncDir, SyncTree)
MAY_TELL_OF_FAILURE: Final = (FileFailure, list)


class Tasks:
    """Drives generators of file operations over a `Files` port."""

    __slots__ = ("_files", "on_sync_failed", "running")

    def __init__(self, files: Files) -> None:
        self._files = files
        self.running: set[_Task] = set()
        # Whatever becomes of the steps that asked for it: from then on nobody knows what the disk holds.
        self.on_sync_failed: Callable[[], None] = lambda: None

    def run(self, steps: Steps[Any], done: Callable[[Any], None] | None = None) -> None:
        """Drive `steps` to its end; `done` gets the return value, or the exception that ended it."""
        _Task(self, steps, done).resume(None)


class _Task:
    __slots__ = ("_done", "_op", "_steps", "_tasks")

    def __init__(self, tasks: Tasks, steps: Steps[Any], done: Callable[[Any], None] | None) -> None:
        self._tasks = tasks
        self._steps = steps
        self._done = done
        self._op: FileOp | None = None

    def resume(self, result: object) -> None:
        """Feed one result and go on while operations finish inline (a loop, so that depth stays constant)."""
        steps, tasks, op = self._steps, self._tasks, self._op
        try:
            while True:
                if isinstance(result, MAY_TELL_OF_FAILURE) and _has_failed_to_sync(op, result):
                    tasks.on_sync_failed()
                op = steps.throw(result) if isinstance(result, FileFailure) else steps.send(result)
                result = tasks._files.perform(op, self.resume)
                if result is LATER:
                    self._op = op
                    tasks.running.add(self)
                    return
        except StopIteration as stop:
            outcome = stop.value
        except Exception as error:
            outcome = error
        self._finish(outcome)

    def _finish(self, outcome: Any) -> None:
        self._tasks.running.discard(self)
        if self._done is not None:
            self._done(outcome)
        elif isinstance(outcome, Exception):
            raise outcome


def _has_failed_to_sync(op: FileOp | None, result: object) -> bool:
    if isinstance(op, Together) and isinstance(result, list):
        return any(_has_failed_to_sync(*each) for each in zip(op.ops, result, strict=True))
    return isinstance(op, SYNCS) and isinstance(result, FileFailure)


def expect_no_mistake(outcome: object) -> None:
    """The disk may fail in the background, and that shows where it matters; our own mistakes must not hide there."""
    if isinstance(outcome, Exception) and not isinstance(outcome, FileFailure):
        raise outcome


def at_once(steps: Steps[T]) -> T:
    """Run steps that only pause, without pausing."""
    try:
        while True:
            op = next(steps)
            assert isinstance(op, Pause), "these steps wait for something"
    except StopIteration as stop:
        outcome: T = stop.value
        return outcome


def perform_each(perform: Callable[[FileOp, Done], object], ops: Sequence[FileOp], done: Done) -> object:
    """`Together` for a world that performs one operation at a time: their results once all of them are there."""
    results: list[object] = [LATER] * len(ops)

    def arrived(number: int, result: object) -> None:
        results[number] = result
        if LATER not in results:
            done(results)

    for number, op in enumerate(ops):
        results[number] = perform(op, partial(arrived, number))
    return LATER if LATER in results else results
