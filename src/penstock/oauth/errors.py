"""What goes wrong with keys and tokens, for people to read."""

from __future__ import annotations

from penstock.core.base.errors import PenstockError


class OAuthError(PenstockError):
    """Keys or a token cannot be had. The text names the place, and no secret."""
