"""Asking the registry that writes, on behalf of a client that has asked us."""

from __future__ import annotations

import http.client
import ssl
from typing import Final, NamedTuple

from penstock.services.registry.asked import Asked
from penstock.services.registry.electing import Identity
from penstock.services.registry.errors import RestError, forwarding_failed

TIMEOUT_SECONDS: Final = 60.0
FORWARDED: Final = "x-forward"
"""Says `false` of a request that was forwarded once: it is not forwarded again."""
OFFSET: Final = "x-penstock-offset"
"""How far who has answered had read the topic: who knows as much does not take the answer back."""
_PASSED_ON: Final = ("authorization", "content-type", "accept")


NOT_LEADER: Final = RestError(50003, "This registry is not the leader any more.")


class NothingDone(Exception):
    """The request has changed nothing, and may be forwarded to whoever leads next."""


class Forwarded(NamedTuple):
    status: int
    body: bytes
    offset: int


def forward(leader: Identity, asked: Asked, context: ssl.SSLContext | None) -> Forwarded:
    """Blocks."""
    headers = {name: asked.headers[name] for name in _PASSED_ON if name in asked.headers}
    connection: http.client.HTTPConnection
    if leader.scheme == "https":
        connection = http.client.HTTPSConnection(leader.host, leader.port, timeout=TIMEOUT_SECONDS, context=context)
    else:
        connection = http.client.HTTPConnection(leader.host, leader.port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(asked.method, asked.target, asked.body or None, headers | {FORWARDED: "false"})
        answer = connection.getresponse()
        offset = answer.getheader(OFFSET, "")
        body = answer.read()
        if NOT_LEADER.message.encode() in body and answer.status == NOT_LEADER.status:
            raise NothingDone
        return Forwarded(answer.status, body, int(offset) if offset.lstrip("-").isdecimal() else -1)
    except ConnectionRefusedError:
        raise NothingDone from None
    except (OSError, http.client.HTTPException) as failure:
        raise forwarding_failed(f"Error while forwarding the request to the leader {leader.url}: {failure}") from None
    finally:
        connection.close()
