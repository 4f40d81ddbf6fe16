"""A handshake in memory: what comes of it on either side."""

from __future__ import annotations

import ssl
from typing import NamedTuple

from penstock.tls.names import distinguished_name


class Shaken(NamedTuple):
    """Which version they speak, and the names that they have shown each other."""

    version: str | None
    client: str | None
    server: str | None


def shake(server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost") -> Shaken | None:
    """None if one of them does not want to."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(to_client, to_server, server_hostname=host)
    far = server.wrap_bio(to_server, to_client, server_side=True)
    is_done = {near: False, far: False}
    try:
        for _ in range(10):
            for side in (near, far):
                try:
                    side.do_handshake()
                    is_done[side] = True
                except ssl.SSLWantReadError:
                    pass
        # With TLS 1.3 a client hears only now that its certificate is not taken.
        far.write(b"x")
        near.read(1)
    except ssl.SSLError:
        return None
    assert all(is_done.values()), "the handshake never ends"
    return Shaken(near.version(), _name(far), _name(near))


def _name(side: ssl.SSLObject) -> str | None:
    shown = side.getpeercert()
    return distinguished_name(shown) if shown else None
