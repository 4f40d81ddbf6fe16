"""Tells systemd that a node serves, or is about to end: a line on the socket that it names (`sd_notify`)."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

VARIABLE = "NOTIFY_SOCKET"


def notify(state: str) -> None:
    """Where nobody wants to know, nothing happens. The name of a socket that has no file begins with @."""
    name = os.environ.get(VARIABLE, "")
    if name:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.sendto(state.encode(), f"\0{name[1:]}" if name.startswith("@") else name)
