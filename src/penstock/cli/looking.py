"""Looking at something that changes: until it is as it should be, or for as long as somebody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final, Never, TypeVar

from penstock.cli.talk import say
from penstock.client.errors import ClientError

T = TypeVar("T")

LOOK_SECONDS: Final = 0.2
_CLEAR: Final = "\x1b[H\x1b[J"


def wait_for(look: Callable[[], T], complaint: Callable[[T], str], seconds: float) -> T:
    """The first look that nothing is wrong with, or the last one of that time; what is wrong is said when it changes.
    That nobody answers is wrong too, and passes."""
    deadline, said = time.monotonic() + seconds, ""
    while True:
        try:
            seen = look()
        except ClientError as failure:
            if not failure.is_absence or time.monotonic() > deadline:
                raise
            wrong = str(failure)
        else:
            wrong = complaint(seen)
            if not wrong or time.monotonic() > deadline:
                return seen
        if wrong != said:
            say(f"waiting: {wrong}")
            said = wrong
        time.sleep(LOOK_SECONDS)


def look_on(look: Callable[[], T], show: Callable[[T], None], interval_seconds: float) -> Never:
    """Show what is seen, each time in the place of the last where that is a terminal, until somebody ends it."""
    while True:
        began = time.monotonic()
        try:
            seen = look()
        except ClientError as failure:
            if not failure.is_absence:
                raise
            say(f"{failure}; looking again every {interval_seconds:g} s")
        else:
            if sys.stdout.isatty():
                print(_CLEAR, end="")
            show(seen)
        time.sleep(max(interval_seconds - (time.monotonic() - began), 0))
