"""Whoever means harm, in a process of his own: `python -m bench.attacks KIND PORT` goes on until it is ended.

Each kind does its worst at a listener that asks who it is: connections that say nothing, handshakes that never end,
frames of a login that claim to be large, frames with anything in them.
"""

from __future__ import annotations

import os
import socket
import ssl
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count

from bench.stages import frame
from penstock.core.wire.api.sasl_handshake import SaslHandshakeRequest
from tests.robustness.malformed import Malformed

OPEN_MAX = 500
"""So many connections are held, and the oldest goes when another one is made."""
CONNECT_S_MAX = 5.0
FRAMES_EACH = 20
STOP_S_MAX = 10.0
BACK_SEAT = 5
"""Niceness: what the attack costs the machine is not what is asked, but what it costs the node."""


def silent(connect: Callable[[], socket.socket], _number: int) -> socket.socket:
    """Half of a size, and no more."""
    sock = connect()
    sock.sendall(b"\0\0")
    return sock


def hello(connect: Callable[[], socket.socket], _number: int) -> socket.socket:
    """The first word of TLS, which costs the node its most expensive answer, and no second one."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(into, out).do_handshake()
    sock = connect()
    sock.sendall(out.read())
    return sock


def oversized(connect: Callable[[], socket.socket], number: int) -> socket.socket:
    """A token of two gigabytes, or one that just fits and never ends."""
    sock = connect()
    sock.sendall(frame(SaslHandshakeRequest(mechanism="PLAIN"), 1))
    sock.sendall(struct.pack(">i", 2**31 - 1) if number % 2 else struct.pack(">i", 500_000) + bytes(400_000))
    return sock


_malformed = Malformed("bench", to_strangers=True)


def fuzzed(connect: Callable[[], socket.socket], _number: int) -> socket.socket:
    sock = connect()
    with suppress(OSError):
        for _ in range(FRAMES_EACH):
            sock.sendall(_malformed.next())
    return sock


KINDS = {"silent": silent, "hello": hello, "oversized": oversized, "fuzzed": fuzzed}


@contextmanager
def under_attack(kind: str, port: int) -> Iterator[None]:
    command = [sys.executable, "-m", "bench.attacks", kind, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n", f"the attack {kind} does not begin"
        try:
            yield
            assert process.poll() is None, f"the attack {kind} has ended by itself"
        finally:
            process.terminate()
            process.wait(STOP_S_MAX)


def main(kind: str, port: str) -> None:
    os.nice(BACK_SEAT)
    held: deque[socket.socket] = deque()
    for number in count():
        with suppress(OSError):
            held.append(KINDS[kind](lambda: socket.create_connection(("127.0.0.1", int(port)), CONNECT_S_MAX), number))
        if len(held) > OPEN_MAX:
            held.popleft().close()
        if number == OPEN_MAX:
            print("begun", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
