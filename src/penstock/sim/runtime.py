"""A machine's memory as far as a node notes something there: it outlives the process, and not the boot."""

from __future__ import annotations


class Memory:
    """The one note of the one data folder."""

    def __init__(self) -> None:
        self.data: bytes | None = None

    def read(self) -> bytes | None:
        return self.data

    def write(self, data: bytes) -> None:
        self.data = data

    def remove(self) -> None:
        self.data = None
