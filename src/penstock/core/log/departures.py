"""Logs that are no longer there, and whose files still are.

To remove many files takes long, and what is decided next about other partitions must not wait for it: a change of
leaders may be among it. So files go in the background, one log after the other. Only who gets the name of a log that
leaves waits, until that name is free; for this folders are renamed first, all that leave together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

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
from penstock.core.log.log import Log
from penstock.core.log.names import DELETED_DIR

RENAMED_TOGETHER_MAX: Final = 128
_NAME_LENGTH_MAX: Final = 255


class Departures:
    """What leaves one data folder."""

    __slots__ = ("_count", "_is_busy", "_leaving", "_renamed", "_root", "_tasks", "on_left_behind")

    def __init__(self, root: str, tasks: Tasks) -> None:
        self._root = root
        self._tasks = tasks
        # Logs that still have their name, and those that have another.
        self._leaving: dict[tuple[str, int], Log] = {}
        self._renamed: deque[tuple[Log, str]] = deque()
        self._count = 0
        self._is_busy = False
        self.on_left_behind: Callable[[Log, FileFailure], None] = lambda log, failure: None

    def add(self, log: Log) -> None:
        log.is_gone = True
        log.blocked = "the partition was deleted"
        self._leaving[log.topic, log.partition] = log
        if not self._is_busy:
            self._is_busy = True
            self._tasks.run(self._see_off())

    def free(self, topic: str, partitions: Iterable[int]) -> Steps[None]:
        """Wait until these names are free."""
        while any((topic, partition) in self._leaving for partition in partitions):
            yield Pause()

    def _see_off(self) -> Steps[None]:
        while self._leaving or self._renamed:
            if self._leaving:
                yield from self._free_names(list(self._leaving.values()))
            else:
                log, folder = self._renamed.popleft()
                yield from self._try(log, _remove_files(log, folder))
        self._is_busy = False

    def _free_names(self, logs: list[Log]) -> Steps[None]:
        for at in range(0, len(logs), RENAMED_TOGETHER_MAX):
            yield from self._rename(logs[at : at + RENAMED_TOGETHER_MAX])
        yield from self._try(logs[0], sync_folder(self._root))
        for log in logs:
            del self._leaving[log.topic, log.partition]

    def _rename(self, logs: list[Log]) -> Steps[None]:
        """Before this nothing of a log may be under way, or it would reach the folder of the next one."""
        while any(log.is_flushing or log.is_maintaining or log.is_writing for log in logs):
            yield Pause()
        folders = [self._name_for(log) for log in logs]
        results: list[object] = yield Together(
            [RenameDir(log.dir, new) for log, new in zip(logs, folders, strict=True)]
        )
        for log, folder, result in zip(logs, folders, results, strict=True):
            if isinstance(result, FileFailure):
                self.on_left_behind(log, result)
                continue
            for file in log.files():
                file.path = f"{folder}/{file.path.rpartition('/')[2]}"
            self._renamed.append((log, folder))

    def _name_for(self, log: Log) -> str:
        """As Kafka names what it is to delete. A replica may leave again while what it left before is still there."""
        self._count += 1
        end = f"-{log.partition}.{(log.topic_id or b'').hex()}.{self._count}{DELETED_DIR}"
        return f"{self._root}/{log.topic[: _NAME_LENGTH_MAX - len(end)]}{end}"

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
