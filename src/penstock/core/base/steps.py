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
    Append,
    Done,
    FileFailure,
    FileOp,
    Files,
    MakeDir,
    Pause,
    RemoveDir,
    Rename,
    RenameDir,
    RunJob,
    Steps,
    Sync,
    SyncDir,
    SyncTree,
    Together,
    Truncate,
    Unlink,
)

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
SYNCS: Final = (Sync, SyncDir, SyncTree)
CHANGES: Final = (Append, Truncate, Rename, Unlink, MakeDir, RemoveDir, RenameDir)
MAY_TELL_OF_FAILURE: Final = (FileFailure, list)


class Tasks:
    """Drives generators of file operations over a `Files` port."""

    __slots__ = ("_files", "later", "on_disk_failed", "running")

    def __init__(self, files: Files) -> None:
        self._files = files
        self.running: set[_Task] = set()
        # Whatever becomes of the steps that asked for it: from then on nobody knows what the disk holds.
        # How to do something a moment later; without it, what lacks a descriptor or memory fails.
        self.later: Callable[[Callable[[], None]], None] | None = None
        self.on_disk_failed: Callable[[], None] = lambda: None

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
                if isinstance(result, MAY_TELL_OF_FAILURE):
                    if self._tries_again(op, result):
                        return
                    if _has_failed(op, result):
                        tasks.on_disk_failed()
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
        try:
            self._finish(outcome)
        finally:
            # An error holds this frame, and with it whatever was worked on: it must not be held by it in turn.
            del outcome

    def _tries_again(self, op: FileOp | None, result: object) -> bool:
        """Whether something was not done for want of a descriptor or of memory, and will be asked for again."""
        tasks = self._tasks
        if tasks.later is None or op is None or isinstance(op, RunJob) or not _lacks_means(result):
            return False
        self._op = op
        tasks.running.add(self)
        tasks.later(partial(self._again, op, result))
        return True

    def _again(self, op: FileOp, result: object) -> None:
        """Ask once more; of several operations, for those that were not done."""
        assert self._tasks.later is not None
        again, done = op, self.resume
        if isinstance(op, Together) and isinstance(result, list):
            numbers = [number for number, each in enumerate(result) if _lacks_means(each)]
            again = Together([op.ops[number] for number in numbers])
            done = partial(self._filled_in, result, numbers)
        found = self._tasks._files.perform(again, done)
        if found is not LATER:
            done(found)

    def _filled_in(self, results: list[object], numbers: list[int], found: object) -> None:
        assert isinstance(found, list)
        for number, each in zip(numbers, found, strict=True):
            results[number] = each
        self.resume(results)

    def _finish(self, outcome: Any) -> None:
        self._tasks.running.discard(self)
        if self._done is not None:
            self._done(outcome)
        elif isinstance(outcome, Exception):
            raise outcome


def _lacks_means(result: object) -> bool:
    if isinstance(result, list):
        return any(isinstance(each, FileFailure) and each.is_passing for each in result)
    return isinstance(result, FileFailure) and result.is_passing


def _has_failed(op: FileOp | None, result: object) -> bool:
    """Whether a sync was tried in vain, or a change was refused as only a disk refuses it that has failed."""
    if isinstance(op, Together) and isinstance(result, list):
        return any(_has_failed(*each) for each in zip(op.ops, result, strict=True))
    if not isinstance(result, FileFailure) or result.is_passing:
        return False
    return isinstance(op, SYNCS) or (isinstance(op, CHANGES) and result.is_disks_end)


def map_in_turns(items: Sequence[A], each: Callable[[A], B], per_turn_max: int) -> Steps[list[B]]:
    """What `each` makes of the items, so many of them at a time. Few are done at once."""
    made: list[B] = []
    for at in range(0, len(items), per_turn_max):
        if at:
            yield Pause()
        made += map(each, items[at : at + per_turn_max])
    return made


class Turns:
    """So much work in a turn, where things are of different size: `yield from turns.spend(n)` before doing n."""

    __slots__ = ("_left", "_per_turn_max")

    def __init__(self, per_turn_max: int) -> None:
        self._per_turn_max = self._left = per_turn_max

    def spend(self, count: int) -> Steps[None]:
        if count > self._left < self._per_turn_max:
            yield Pause()
            self._left = self._per_turn_max
        self._left -= count


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
