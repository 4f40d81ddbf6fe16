"""Steps: multi-step file work written as one straight generator, driven without recursion.

A generator yields operation values and is resumed with their results. Whether an operation finishes at once or
later is the world's affair: the same code runs in production, where page-cache reads finish inline, and in the
simulator, where each operation takes its seeded time and a crash may fall between any two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.core.base.ports import LATER, FileFailure, Files, Later, Steps

T = TypeVar("T")


class Tasks:
    """Drives generators of file operations over a `Files` port."""

    __slots__ = ("_files", "running")

    def __init__(self, files: Files) -> None:
        self._files = files
        self.running: set[_Task] = set()

    def run(self, steps: Steps[Any], done: Callable[[Any], None] | None = None) -> None:
        """Drive `steps` to its end; `done` gets the return value, or the exception that ended it."""
        _Task(self, steps, done).resume(None)

    def try_run(self, steps: Steps[T], done: Callable[[T | Exception], None]) -> T | Later:
        """Give the value when every operation finished inline; otherwise `LATER`, and `done` is called."""
        return _Task(self, steps, done).resume(None, inline=True)  # type: ignore[no-any-return]  # the generator's T


class _Task:
    __slots__ = ("_done", "_steps", "_tasks")

    def __init__(self, tasks: Tasks, steps: Steps[Any], done: Callable[[Any], None] | None) -> None:
        self._tasks = tasks
        self._steps = steps
        self._done = done

    def resume(self, result: object, inline: bool = False) -> Any:
        """Feed one result and go on while operations finish inline (a loop, so that depth stays constant)."""
        steps, tasks = self._steps, self._tasks
        try:
            while True:
                op = steps.throw(result) if isinstance(result, FileFailure) else steps.send(result)
                result = tasks._files.perform(op, self.resume)
                if result is LATER:
                    tasks.running.add(self)
                    return LATER
        except StopIteration as stop:
            return self._finish(stop.value, inline)
        except Exception as error:
            if inline:
                tasks.running.discard(self)
                raise
            return self._finish(error, inline)

    def _finish(self, value: Any, inline: bool) -> Any:
        self._tasks.running.discard(self)
        if inline:
            return value
        if self._done is not None:
            self._done(value)
        elif isinstance(value, Exception):
            raise value
        return value
