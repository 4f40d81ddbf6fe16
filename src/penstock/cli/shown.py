"""Bytes of others at a terminal, and whether there is one: elsewhere they go as they are."""

import sys

from penstock.core.base.shown import shown


def shown_bytes(content: bytes) -> bytes:
    """Each control character as the escape that stands for it; what is no text is escaped too."""
    return shown(content.decode(errors="backslashreplace")).encode()


def is_for_a_terminal() -> bool:
    """Whether a terminal reads what is printed. What goes elsewhere goes byte by byte."""
    return sys.stdout.isatty()
