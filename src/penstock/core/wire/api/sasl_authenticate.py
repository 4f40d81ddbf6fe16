"""SaslAuthenticate: API key 36, versions 0 to 2, flexible from 2; for brokers and controllers."""

from penstock.core.wire.schema import Request, Response, blob, int16, int64, string


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible="2+"):
    auth_bytes: bytes = blob()


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    auth_bytes: bytes = blob()
    session_lifetime_ms: int = int64(versions="1+", ignorable=True)
