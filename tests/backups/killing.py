"""Runs a command and kills it at the first thing it does to the disk, then at the second, and so on, until one run ends
by itself. Prints a line of JSON: how often it was killed, and what a look found after each of these times.

As a process of its own, because a fork of one that has threads is not to be relied on."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from penstock.cli.app import run
from penstock.cli.backups import creating, restoring

CALLS = ("open", "write", "writev", "fsync", "fdatasync", "rename", "replace", "mkdir", "unlink", "rmdir", "ftruncate")
"""What changes something, or is about to."""
LOADED = (creating, restoring)
"""Before the fork, and not in each run again."""


def main(step: int, look: str, *words: str) -> int:
    seen: list[str] = []
    kills = 0
    while True:
        child = os.fork()
        if child == 0:
            _die_at(1 + kills * step)
            os._exit(run(words))
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            print(json.dumps({"kills": kills, "code": os.waitstatus_to_exitcode(status), "seen": seen}))
            return 0
        assert os.WTERMSIG(status) == signal.SIGKILL, status
        kills += 1
        seen.append("there" if os.path.exists(look) else "not there")


def _die_at(count: int) -> None:
    left = [count]

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def perform(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return perform

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
