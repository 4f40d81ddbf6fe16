"""Where a node listens: the same value in settings, in the metadata and among voters."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple


class SecurityProtocol(IntEnum):
    """How a listener is spoken to, in the numbers of the metadata log."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


AUTHENTICATING: Final = frozenset({SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL})
ENCRYPTING: Final = frozenset({SecurityProtocol.SSL, SecurityProtocol.SASL_SSL})


class Endpoint(NamedTuple):
    """One listener of a node. An empty host stands for every interface. Voters' endpoints say no protocol: the voters
    record has no room for it, and every controller knows it from its own settings."""

    name: str
    host: str
    port: int
    protocol: int = SecurityProtocol.PLAINTEXT
    """A `SecurityProtocol`, or the number of one that another node knows."""
