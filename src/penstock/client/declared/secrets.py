"""Where a password comes from. Never from the file itself, which is read by many and kept for ever."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from penstock.client.declared import shape
from penstock.client.declared.marked import FileError, Mark, Node, Scalar

EXPECTED = "write {env: VARIABLE} or {file: PATH}: a password does not stand in the file"


class Secret(NamedTuple):
    """A variable of the environment, or the first line of a file."""

    is_variable: bool
    name: str
    folder: Path
    mark: Mark

    def read(self) -> str:
        found = os.environ.get(self.name, "") if self.is_variable else self._first_line()
        if not found:
            raise FileError(self.mark, f"there is no password in {self._place}", "put it there, and apply again")
        return found

    @property
    def _place(self) -> str:
        return f"the variable {self.name}" if self.is_variable else f"the file {self.name}"

    def _first_line(self) -> str:
        try:
            with open(self.folder / self.name, encoding="utf-8") as file:
                return file.readline().rstrip("\r\n")
        except OSError as failure:
            raise FileError(self.mark, f"cannot read {self._place}: {failure.strerror}", "check the path") from None
        except UnicodeDecodeError:
            raise FileError(self.mark, f"{self._place} is not a text file", "it is one line in UTF-8") from None


def read_secret(node: Node, what: str, folder: Path) -> Secret:
    if isinstance(node, Scalar):
        # What stands here may be one already: it is not repeated.
        raise FileError(node.mark, f"{what}: no password is expected here, but where it is", EXPECTED)
    kind, value = shape.Fields(node, what, ("env", "file")).one_of(("env", "file"))
    return Secret(kind == "env", shape.text(value, what), folder, node.mark)
