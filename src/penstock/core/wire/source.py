"""A growing piece of generated Python: indented lines, and the values its names stand for."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any


class Source:
    """Collects the lines of one function and the globals it will run with."""

    def __init__(self, **names: Any) -> None:
        self.names: dict[str, Any] = names
        self._lines: list[str] = []
        self._indent = 0
        self._numbers = count(1)

    def line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Lines written inside stand under `header`, which ends with a colon."""
        self.line(header)
        self._indent += 1
        lines_before = len(self._lines)
        yield
        if len(self._lines) == lines_before:
            self.line("pass")
        self._indent -= 1

    def fresh(self, stem: str) -> str:
        """A local name that nothing else in this function uses."""
        return f"{stem}{next(self._numbers)}"

    def constant(self, stem: str, value: Any) -> str:
        """A global name for `value`."""
        name = self.fresh(stem)
        self.names[name] = value
        return name

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def compile(self, function: str, file_name: str) -> Any:
        """Runs the collected definition and hands back the function it defines."""
        exec(compile(self.text(), file_name, "exec"), self.names)
        return self.names[function]
