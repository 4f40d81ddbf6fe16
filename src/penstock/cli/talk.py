"""Talk to the person goes to stderr, data to stdout: a pipe never sees a word that is not data."""

import errno
import os
import sys

from penstock.core.base.shown import shown

FAILED, USED_WRONGLY = 1, 2
"""Exit codes."""
_ADVICE = {
    errno.EACCES: "see who owns it and who may write there, or choose another place",
    errno.EPERM: "see who owns it and who may write there, or choose another place",
    errno.EROFS: "what is mounted there can only be read: choose another place",
    errno.ENOSPC: "make room on that disk (`df -h` and `df -i` say how full it is), or choose another place",
    errno.EDQUOT: "that is all the room that this user may have: make room, or choose another place",
    errno.EMFILE: "too many files are open: raise the limit with `ulimit -n`",
}


class Refused(Exception):
    """A command that cannot do what it was asked. The message says why, the hint what to do next."""

    code = FAILED

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Misused(Refused):
    """Options that are none, or do not go together."""

    code = USED_WRONGLY


def not_text(path: str) -> Refused:
    """What to say of a settings file that holds anything else."""
    return Refused(f"{path} is not a text file", "settings are lines of key=value in UTF-8")


def advice(failure: OSError) -> str | None:
    """What to do about a place that cannot be used."""
    return _ADVICE.get(failure.errno or 0)


def say(line: str) -> None:
    """One line for the person."""
    print(shown(line), file=sys.stderr, flush=True)


def complain(message: str, hint: str | None = None, code: int = FAILED) -> int:
    """Say why a command failed and what to do next; gives the exit code."""
    say(f"penstock: {message}")
    if hint:
        say(f"  {hint}")
    return code


def close_stdout() -> None:
    """The reader of our output has gone (`penstock consume t | head`): what is left to write goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_missing_streams() -> None:
    """Somebody may start us without input or output (`penstock consume t >&-`): then nothing is read from there, and
    what is written there is lost, instead of going into whatever file or socket is opened next."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Open until the process ends, like the stream that it stands for.
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
