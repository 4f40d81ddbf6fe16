"""`penstock up --detach`: the command comes back when all nodes serve, and who looks after them stays behind.

What the nodes say goes to a file in the cluster's folder from the start; what `up` itself says goes to the terminal
until it is left, and to that file afterwards.
"""

import os
import signal
import sys
from collections.abc import Callable

from penstock.cli.folder import LOG, OLD_LOG, ClusterFolder
from penstock.cli.supervising import Terminal
from penstock.cli.talk import say

READY = b"\n"
LOG_LINES_SHOWN_MAX = 20
LOG_BYTES_MAX = 1 << 24
"""What is longer makes room for a new one, at a start and meanwhile; one such file is kept."""
COPIED_BYTES = 1 << 20


def detached(run: Callable[[Terminal], int]) -> int:
    """Run in a process of its own, and come back as soon as that one serves or has failed."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        # No terminal's ctrl-c, and no end of a session, reaches it from here on.
        os.setsid()
        return run(_Daemon(writer))
    os.close(writer)
    try:
        if os.read(reader, 1) == READY:
            return 0
    except KeyboardInterrupt:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code > 0 else 1


class _Daemon(Terminal):
    """The terminal as a process sees it that will leave it."""

    is_left = True

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self._log = -1
        self._path = ""
        self._begin = 0

    def log(self, folder: ClusterFolder) -> int:
        path = self._path = folder.log_path
        if os.path.exists(path) and os.path.getsize(path) > LOG_BYTES_MAX:
            os.replace(path, path.removesuffix(LOG) + OLD_LOG)
        self._log = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._begin = os.fstat(self._log).st_size
        return self._log

    def limit_log(self) -> None:
        """Everybody has the file open, and appends to it: what it holds goes elsewhere, and it begins anew."""
        if self._log < 0 or os.fstat(self._log).st_size <= LOG_BYTES_MAX:
            return
        old, at = self._path.removesuffix(LOG) + OLD_LOG, 0
        with open(f"{old}.new", "wb") as kept:
            while data := os.pread(self._log, COPIED_BYTES, at):
                kept.write(data)
                at += len(data)
        os.replace(f"{old}.new", old)
        os.ftruncate(self._log, 0)
        self._begin = 0

    def show_log(self) -> None:
        """What nodes have said since this start, as far as a person wants to read it."""
        size = os.fstat(self._log).st_size - self._begin
        text = os.pread(self._log, size, self._begin).decode(errors="replace")
        for line in text.splitlines()[-LOG_LINES_SHOWN_MAX:]:
            say(line)

    def leave(self) -> None:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream, target in ((0, nowhere), (1, nowhere), (2, self._log)):
            os.dup2(target, stream)
        os.close(nowhere)
        os.write(self._parent, READY)
        os.close(self._parent)
