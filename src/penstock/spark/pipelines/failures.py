"""A query that died, in one line: which batch, which offsets, and the error that a person can act on. Pure."""

from __future__ import annotations

from typing import Final

from penstock.core.delivery.policy import bounded

LINE_CHARS_MAX: Final = 2_000
_TRACEBACK: Final = "Traceback (most recent call last)"


def failure_line(pipeline: str, start: str, end: str, message: str) -> str:
    """`start` and `end` are Spark's own lists of offsets, one entry for each source."""
    where = f"between offsets {start or 'the beginning'} and {end}" if end and end != "[]" else "before its first batch"
    return bounded(f"pipeline {pipeline} failed {where}: {cause_of(message)}", LINE_CHARS_MAX)


def cause_of(message: str) -> str:
    """What went wrong, found in Spark's telling of it: the end of the last Python traceback, else the first line."""
    _, found, traceback = message.rpartition(_TRACEBACK)
    for line in traceback.splitlines()[1:] if found else ():
        # Frames are indented; the first line that is not says what was raised.
        if line and not line[0].isspace():
            return line.strip()
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[0] if lines else "no reason was given"
