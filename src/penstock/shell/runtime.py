"""What a node notes outside of its disk: a file in the machine's memory: it survives the process, not the boot."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from penstock.core.base.ports import NoNote, RuntimeNote
from penstock.shell.mount import is_in_memory

FOLDER: Final = "/dev/shm"
NOTE_BYTES_MAX: Final = 64 * 1024


def runtime_note(data_folder: str, folder: str = FOLDER) -> RuntimeNote:
    """The note of a data folder. Where memory has no folder nothing is noted, and nobody is vouched for."""
    try:
        found = os.stat(data_folder)
    except OSError:
        return NoNote()
    if not is_in_memory(folder):
        return NoNote()
    return NoteInMemory(f"{folder}/penstock-{os.geteuid()}-{found.st_dev}-{found.st_ino}")


class NoteInMemory:
    """A small file that is replaced as a whole."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> bytes | None:
        """Everybody may write into that folder: what another user has put there says nothing."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            return os.read(fd, NOTE_BYTES_MAX) if os.fstat(fd).st_uid == os.geteuid() else None
        except OSError:
            return None
        finally:
            os.close(fd)

    def write(self, data: bytes) -> None:
        """If it cannot be, the old note goes too: it may say more than is true by now."""
        temporary = f"{self.path}.tmp"
        try:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            try:
                os.write(fd, data)
            finally:
                os.close(fd)
            os.replace(temporary, self.path)
        except OSError:
            self.remove()

    def remove(self) -> None:
        with suppress(OSError):
            os.unlink(self.path)
