"""The two ways a codec fails: the peer's bytes are bad, or our message does not fit the version."""

from penstock.core.base.errors import PenstockError


class DecodeError(PenstockError):
    """Bytes from outside that are not a valid message; the connection that sent them should be closed."""


class TooManyElements(DecodeError):
    """A message with more elements than its reader was ready to take."""


class EncodeError(PenstockError):
    """A message of ours that cannot be written at the asked version."""
