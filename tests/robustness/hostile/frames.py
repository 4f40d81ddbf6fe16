"""Requests that begin, are said to be large, and never end."""

from __future__ import annotations

from contextlib import ExitStack

from tests.robustness.hostile.target import Case, Peer, Target

CONNECTIONS = 10
BYTES = 60_000_000
SENT_S_MAX = 1.0
_PRODUCE = bytes(2)


def never_ending(target: Target) -> None:
    """Each sends all of a request but its end, as far as the node takes it."""
    with ExitStack() as stack:
        peers = [stack.enter_context(target.connect()) for _ in range(CONNECTIONS)]
        data = (BYTES + 1).to_bytes(4, "big") + _PRODUCE + bytes(BYTES - len(_PRODUCE))
        for peer in peers:
            _send_what_is_taken(peer, data)


def _send_what_is_taken(peer: Peer, data: bytes) -> None:
    peer.socket.settimeout(SENT_S_MAX)
    try:
        peer.send(data)
    except TimeoutError:
        """The node does not read on."""


CASES: dict[str, Case] = {"frames that never end": never_ending}
