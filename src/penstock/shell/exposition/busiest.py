"""Which clients are connected, and how much goes through their sockets. The kernel counts that for each, so that no
request has to."""

from __future__ import annotations

import socket
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Final, NamedTuple

from penstock.shell.exposition.families import GAUGE, Family, labels

CLIENTS_MAX: Final = 50
"""The busiest; clients choose their names."""
CONNECTIONS_MAX: Final = 1_000
"""About a millisecond of asking."""
NAME_CHARS_MAX: Final = 100
_TCP_INFO: Final = getattr(socket, "TCP_INFO", 0)
# Of Linux' tcp_info: what the other side has acknowledged, and what came from it.
_COUNTS: Final = Struct("=QQ")
_COUNTS_AT: Final = 120


class Traffic(NamedTuple):
    """Of one connection that is open, by the name that its client gives itself."""

    client_id: str
    received_bytes: int
    sent_bytes: int


def socket_bytes(descriptor: int) -> tuple[int, int]:
    """Received and sent; nothing where the system does not count, or the socket is closed by now."""
    if descriptor < 0 or not _TCP_INFO:
        return 0, 0
    # What an event loop hands out of a socket knows fewer questions than a socket.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=descriptor)
    try:
        told = found.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _COUNTS_AT + _COUNTS.size)
    except OSError:
        return 0, 0
    finally:
        found.detach()
    if len(told) < _COUNTS_AT + _COUNTS.size:
        return 0, 0
    sent, received = _COUNTS.unpack_from(told, _COUNTS_AT)
    return received, sent


def busiest_families(traffic: Callable[[], Iterable[Traffic]]) -> Iterator[Family]:
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for each in traffic():
        of = counts[each.client_id[:NAME_CHARS_MAX]]
        of[0] += 1
        of[1] += each.received_bytes
        of[2] += each.sent_bytes
    busiest = sorted(counts, key=lambda name: -counts[name][1] - counts[name][2])[:CLIENTS_MAX]
    told = (
        ("penstock_client_connections", "Open connections, by client; the busiest clients."),
        ("penstock_client_received_bytes", "What came on connections that are open, by client."),
        ("penstock_client_sent_bytes", "What went over connections that are open, by client."),
    )
    for index, (name, text) in enumerate(told):
        # No counters: what a connection has carried goes with it.
        yield Family(name, GAUGE, text, [(labels(client_id=each), counts[each][index]) for each in busiest])
