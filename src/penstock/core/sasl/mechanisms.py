"""What a mechanism is, on either side, and which there are.

A machine takes the other side's token and gives its own. It knows no socket, clock or dice: what must be random is
given to it. Whatever it refuses it refuses with `AuthenticationFailed`, whose text is for the log of a node and not for
whoever failed: it may say whether there is such a user.
"""

from __future__ import annotations

from typing import Final, Protocol

from penstock.core.base.errors import PenstockError

NONCE_BYTES: Final = 24
"""How much chance goes into a nonce."""


class AuthenticationFailed(PenstockError):
    """The other side is not who it says, or does not speak the mechanism. `told` is what it may be told of it, where
    the mechanism has words for that."""

    def __init__(self, why: str, told: str | None = None) -> None:
        super().__init__(why)
        self.told = told


class MechanismServer(Protocol):
    """The side that is told who asks."""

    @property
    def user(self) -> str | None:
        """Who it is, once that is proved."""
        ...

    @property
    def expires_ms(self) -> int | None:
        """When the proof itself ends, by the wall clock; None: it does not."""
        ...

    @property
    def is_by_token(self) -> bool:
        """Whether a delegation token proves it, with which no others can be made."""
        ...

    def respond(self, token: bytes) -> bytes:
        """The answer to a token."""
        ...


class MechanismClient(Protocol):
    """The side that proves who it is."""

    @property
    def is_complete(self) -> bool:
        """Whether the other side has proved what it has to."""
        ...

    def respond(self, token: bytes) -> bytes:
        """The answer to a token; the first answers an empty one."""
        ...


def decoded(token: bytes) -> str:
    """A token as text."""
    try:
        return token.decode()
    except UnicodeDecodeError:
        raise AuthenticationFailed("a token is not UTF-8") from None
