"""File work written as steps, done at once by whoever can wait for the disk: a command, not a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.core.base.ports import LATER, FileFailure, Pause, Steps
from penstock.shell.disk import Disk, Reader

if TYPE_CHECKING:
    from penstock.shell.sealed_paths import Sealing

OPEN_FILES_MAX = 64

T = TypeVar("T")


def run_blocking(steps: Steps[T], sealing: Sealing | None = None) -> T:
    """Perform every operation where it is asked for, to the end of the steps. No jobs: those have processes."""
    return run_with_disk(lambda disk: steps, sealing)


def run_with_disk(make: Callable[[Disk], Steps[T]], sealing: Sealing | None = None) -> T:
    """The same for steps that need to know the disk, such as those of a log."""
    disk = _disk(sealing)
    try:
        return _drive(make(disk), disk)
    finally:
        disk.close()


def _disk(sealing: Sealing | None) -> Disk:
    if sealing is None:
        return Disk(lambda act: act(), OPEN_FILES_MAX, Reader())
    from penstock.shell.sealed_disk import SealedDisk

    return SealedDisk(lambda act: act(), OPEN_FILES_MAX, Reader(), sealing)


def _drive(steps: Steps[T], disk: Disk) -> T:
    result: Any = None
    try:
        while True:
            op = steps.throw(result) if isinstance(result, FileFailure) else steps.send(result)
            result = None if isinstance(op, Pause) else disk.perform(op, _never)
            assert result is not LATER, f"{op} cannot be done at once"
    except StopIteration as stop:
        outcome: T = stop.value
        return outcome


def _never(result: object) -> None:
    raise AssertionError("a disk that has not begun to serve does everything at once")
