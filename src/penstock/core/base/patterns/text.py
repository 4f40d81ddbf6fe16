"""A pattern being read, from left to right."""

from __future__ import annotations

from penstock.core.base.patterns.tree import InvalidPattern


class Text:
    """What is left of a pattern."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def next(self) -> str:
        """The next character; empty at the end."""
        return self._text[self._at : self._at + 1]

    def take(self, complaint: str) -> str:
        found = self.next
        if not found:
            raise InvalidPattern(complaint)
        self._at += 1
        return found

    def some(self, count: int) -> str:
        found = self._text[self._at : self._at + count]
        self._at += len(found)
        return found

    def skip(self, what: str) -> bool:
        """Go past this, if it comes next."""
        if not self._text.startswith(what, self._at):
            return False
        self._at += len(what)
        return True

    def until(self, end: str, complaint: str) -> str:
        """What stands before `end`, which is read as well."""
        found = self._text.find(end, self._at)
        if found < 0:
            raise InvalidPattern(complaint)
        part = self._text[self._at : found]
        self._at = found + len(end)
        return part

    def mark(self) -> int:
        return self._at

    def back(self, mark: int) -> None:
        self._at = mark
