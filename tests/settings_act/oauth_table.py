"""Settings about signed tokens and delegation tokens: what is seen under the default, and under another value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.shell.signing_keys import Place
from tests.settings_act import oauth_checks as oauth
from tests.settings_act import token_checks as tokens
from tests.settings_act.trial import Flip

_USUAL: Final = Place("https://idp/keys", 3_600_000, 100, 10_000)
_OF: Final = "sasl.oauthbearer"
OF_OAUTH: Final[Mapping[str, Flip]] = {
    f"{_OF}.clock.skew.seconds": Flip(partial(oauth.is_let_in, lives_s=-10), ("30", True), ("5", False)),
    f"{_OF}.expected.audience": Flip(oauth.is_let_in, ("", False), ("some,kafka", True)),
    f"{_OF}.expected.issuer": Flip(partial(oauth.is_let_in, iss="https://evil"), (None, True), ("https://idp", False)),
    f"{_OF}.jwks.endpoint.url": Flip(oauth.starts, (None, False), ("file:///keys.json", True)),
    f"{_OF}.jwks.endpoint.refresh.ms": Flip(
        oauth.place, ("3600000", _USUAL), ("60000", _USUAL._replace(refresh_ms=60_000))
    ),
    f"{_OF}.jwks.endpoint.retry.backoff.ms": Flip(
        oauth.place, ("100", _USUAL), ("500", _USUAL._replace(backoff_ms=500))
    ),
    f"{_OF}.jwks.endpoint.retry.backoff.max.ms": Flip(
        oauth.place, ("10000", _USUAL), ("7000", _USUAL._replace(backoff_ms_max=7_000))
    ),
    f"{_OF}.scope.claim.name": Flip(partial(oauth.is_let_in, scp=["a", "a"]), ("scope", True), ("scp", False)),
    f"{_OF}.sub.claim.name": Flip(oauth.user, ("sub", "alice"), ("email", "bob")),
    "delegation.token.secret.key": Flip(
        tokens.error_of, (None, ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED), ("of all nodes", ErrorCode.NONE)
    ),
    "delegation.token.max.lifetime.ms": Flip(tokens.longest_ms, ("604800000", 604_800_000), ("5000", 5_000)),
    "delegation.token.expiry.time.ms": Flip(tokens.renewed_ms, ("86400000", 86_400_000), ("5000", 5_000)),
    "delegation.token.expiry.check.interval.ms": Flip(tokens.kept_after_a_minute, ("3600000", 1), ("30000", 0)),
    "sasl.server.callback.handler.class": Flip(oauth.starts, (None, True), ("com.example.Mine", False)),
}
