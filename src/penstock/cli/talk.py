"""Talk to the person goes to stderr, data to stdout: a pipe never sees a word that is not data."""

import os
import sys


class Refused(Exception):
    """A command that cannot do what it was asked. The message says why, the hint what to do next."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def say(line: str) -> None:
    """One line for the person."""
    print(line, file=sys.stderr, flush=True)


def complain(message: str, hint: str | None = None) -> int:
    """Say why a command failed and what to do next; gives the exit code of a failure."""
    say(f"penstock: {message}")
    if hint:
        say(f"  {hint}")
    return 1


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
