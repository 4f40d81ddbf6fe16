"""Logs that are no longer there, and whose files still are: on their way out, or to be set aside.

To remove many files takes long, and what is decided next about other partitions must not wait for it: a change of
leaders may be among it. So files go in the background, one log after the other. Only who gets the name of a log that
leaves waits, until that name is free; for this folders are renamed first, all that leave together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from penstock.core.base.ports import (
    Entry,
    File,
    FileFailure,
    ListDir,
    Pause,
    RemoveDir,
    RenameDir,
    Steps,
    Together,
    Unlink,
)
from penstock.core.base.steps import Tasks
from penstock.core.log.durable import sync_folder
from penstock.core.log.lockstep import side_by_side
from penstock.core.log.log import Log
from penstock.core.log.names import DELETED_DIR
from penstock.core.log.strays import STRAY_DIR, Note, departing_name, prepare

RENAMED_TOGETHER_MAX: Final = 128

Key = tuple[str, int]


class Leaving(NamedTuple):
    """A log that still has its name. With a note it is set aside, without one it is removed."""

    log: Log
    note: Note | None


class DeferredDelete:
    """What leaves one data folder, and what was set aside in it."""

    __slots__ = (
        "_failed",
        "_is_busy",
        "_leaving",
        "_new_strays",
        "_renamed",
        "_root",
        "_taken",
        "_tasks",
        "on_left_behind",
        "on_set_aside",
        "strays",
    )

    def __init__(self, root: str, tasks: Tasks) -> None:
        self._root = root
        self._tasks = tasks
        # Logs that still have their name, those that could not be given another, and those that have one.
        self._leaving: dict[Key, Leaving] = {}
        self._failed: dict[Key, tuple[Leaving, FileFailure]] = {}
        self._renamed: deque[tuple[Log, str]] = deque()
        self._taken: set[str] = set()
        self._new_strays: list[Leaving] = []
        self._is_busy = False
        self.strays: set[str] = set()
        """The names of all folders that are set aside."""
        self.on_left_behind: Callable[[Log, FileFailure], None] = lambda log, failure: None
        self.on_set_aside: Callable[[list[Leaving]], None] = lambda leaving: None

    def add(self, log: Log) -> None:
        """Remove a log: its partition was deleted, or is elsewhere now."""
        log.blocked = "the partition was deleted"
        self._begin(Leaving(log, None))

    def set_aside(self, log: Log, note: Note) -> None:
        """Keep all that a log has, under another name."""
        self._begin(Leaving(log, note))

    def _begin(self, leaving: Leaving) -> None:
        log = leaving.log
        log.is_gone = True
        self._leaving[log.topic, log.partition] = leaving
        if not self._is_busy:
            self._is_busy = True
            self._tasks.run(self._see_off())

    def free(self, topic: str, partitions: Iterable[int]) -> Steps[None]:
        """Wait until these names are free. One that could not be freed before is tried once more: a new log must not
        come upon what an older one has left."""
        keys = [(topic, partition) for partition in partitions]
        for key in keys:
            if key in self._failed:
                self._begin(self._failed.pop(key)[0])
        while any(key in self._leaving for key in keys):
            yield Pause()
        for key in keys:
            if key in self._failed:
                raise self._failed[key][1]

    def settle(self) -> Steps[None]:
        """Wait until every log that is to be set aside is, or could not be."""
        while any(leaving.note is not None for leaving in self._leaving.values()):
            yield Pause()

    def _see_off(self) -> Steps[None]:
        while self._leaving or self._renamed:
            if self._leaving:
                yield from self._free_names(list(self._leaving.values()))
            else:
                log, name = self._renamed.popleft()
                yield from self._try(log, _remove_files(log, f"{self._root}/{name}"))
                self._taken.discard(name)
        self._is_busy = False

    def _free_names(self, leaving: list[Leaving]) -> Steps[None]:
        for at in range(0, len(leaving), RENAMED_TOGETHER_MAX):
            yield from self._rename((yield from self._prepared(leaving[at : at + RENAMED_TOGETHER_MAX])))
        yield from self._try(leaving[0].log, sync_folder(self._root))
        for log, _ in leaving:
            del self._leaving[log.topic, log.partition]
        if self._new_strays:
            found, self._new_strays = self._new_strays, []
            self.on_set_aside(found)

    def _prepared(self, leaving: list[Leaving]) -> Steps[list[Leaving]]:
        """What may be renamed: nothing is, that is to be kept and does not last yet."""
        kept = [(log, note) for log, note in leaving if note is not None]
        outcomes = yield from side_by_side(self._root, [prepare(log, note) for log, note in kept])
        for each, outcome in zip(kept, outcomes, strict=True):
            if isinstance(outcome, FileFailure):
                self._fail(Leaving(*each), outcome)
        return [each for each in leaving if (each.log.topic, each.log.partition) not in self._failed]

    def _rename(self, leaving: list[Leaving]) -> Steps[None]:
        """Before this nothing of a log may be under way, or it would reach the folder of the next one."""
        while any(log.is_flushing or log.is_maintaining or log.is_writing for log, _ in leaving):
            yield Pause()
        names = [self._name_for(each) for each in leaving]
        results: list[object] = yield Together(
            [RenameDir(each.log.dir, f"{self._root}/{name}") for each, name in zip(leaving, names, strict=True)]
        )
        for each, name, result in zip(leaving, names, results, strict=True):
            if isinstance(result, FileFailure):
                self._taken.discard(name)
                self._fail(each, result)
            else:
                self._renamed_to(each, name)

    def _renamed_to(self, leaving: Leaving, name: str) -> None:
        log = leaving.log
        for file in log.files():
            file.path = f"{self._root}/{name}/{file.path.rpartition('/')[2]}"
        if leaving.note is None:
            self._renamed.append((log, name))
        else:
            self.strays.add(name)
            self._new_strays.append(leaving)

    def _name_for(self, leaving: Leaving) -> str:
        suffix = DELETED_DIR if leaving.note is None else STRAY_DIR
        name = departing_name(leaving.log, suffix, self._taken | self.strays)
        self._taken.add(name)
        return name

    def _fail(self, leaving: Leaving, failure: FileFailure) -> None:
        log = leaving.log
        self._failed[log.topic, log.partition] = leaving, failure
        self.on_left_behind(log, failure)

    def _try(self, log: Log, steps: Steps[None]) -> Steps[None]:
        try:
            yield from steps
        except FileFailure as failure:
            self.on_left_behind(log, failure)


def _remove_files(log: Log, folder: str) -> Steps[None]:
    # The log's own values of its files first: behind them the disk may hold them open, and with them their space.
    for file in log.files():
        yield Unlink(file)
    yield from unlink_folder(folder)


def unlink_folder(path: str) -> Steps[None]:
    entries: list[Entry] = yield ListDir(path)
    for entry in entries:
        yield Unlink(File(f"{path}/{entry.name}"))
        yield Pause()
    yield RemoveDir(path)
