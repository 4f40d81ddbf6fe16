"""What a data folder keeps of all its logs at once, in Kafka's checkpoint files.

An entry names its partition and nothing else, and stays until its file is written again. It must not outlive what it
speaks of: below a recovery point a log is trusted unseen, and below a stored start nobody is served.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Final

from penstock.core.base.ports import File, FileFailure, Pause, Steps, Unlink
from penstock.core.log import checkpoints
from penstock.core.log.checkpoints import Offsets
from penstock.core.log.durable import sync_folder
from penstock.core.log.names import CLEANER_FILE, HIGH_WATERMARKS_FILE, LOG_STARTS_FILE, RECOVERY_POINTS_FILE

FILES: Final = (RECOVERY_POINTS_FILE, LOG_STARTS_FILE, CLEANER_FILE, HIGH_WATERMARKS_FILE)


class StoredOffsets:
    """The checkpoint files of one folder. One is written at a time: two that replace a file at once take its temporary
    one from each other."""

    __slots__ = ("_is_writing", "_root", "_stored")

    def __init__(self, root: str) -> None:
        self._root = root
        self._stored: dict[str, Offsets] = {name: {} for name in FILES}
        self._is_writing = False

    def read(self, name: str) -> Steps[Offsets]:
        offsets = yield from checkpoints.read_offsets(f"{self._root}/{name}")
        self._stored[name] = offsets
        return offsets

    def write(self, name: str, current: Callable[[], Offsets]) -> Steps[None]:
        """Store, for good, what is current when the turn has come: until then a log may go, and its name to another."""
        yield from self._turn()
        offsets = current()
        if self._stored[name] != offsets:
            yield from self._become(name, offsets, checkpoints.write_offsets(f"{self._root}/{name}", offsets))

    def forget(self, key: tuple[str, int], kept: Container[tuple[str, int]]) -> Steps[None]:
        """Before a log is created: nothing that was stored for an earlier one of that name holds for it. Whatever else
        is not to be kept goes too, so that many that are created again cost no more than one."""
        for name in FILES:
            yield from self._turn()
            if key in self._stored[name]:
                yield from self.write(name, partial(self._kept, name, kept))

    def lower(self, name: str, key: tuple[str, int], offset: int, current: Callable[[], Offsets]) -> Steps[None]:
        """After a log was cut, and before anything takes the place of what was there: store no more than what is left.
        Where there is no room to write that, storing nothing says as much, and takes none."""
        yield from self._turn()
        if self._stored[name].get(key, 0) <= offset:
            return
        try:
            yield from self.write(name, current)
        except FileFailure as failure:
            if not failure.lacks_room:
                raise
            yield from self._turn()
            yield from self._become(name, {}, _unlink(f"{self._root}/{name}"))

    def _become(self, name: str, offsets: Offsets, change: Steps[None]) -> Steps[None]:
        """Let a change of a file, which makes it say this, last before it is counted on."""
        self._is_writing = True
        try:
            yield from change
            yield from sync_folder(self._root)
            self._stored[name] = offsets
        finally:
            self._is_writing = False

    def _kept(self, name: str, kept: Container[tuple[str, int]]) -> Offsets:
        return {key: offset for key, offset in self._stored[name].items() if key in kept}

    def _turn(self) -> Steps[None]:
        while self._is_writing:
            yield Pause()


def _unlink(path: str) -> Steps[None]:
    yield Unlink(File(path))
