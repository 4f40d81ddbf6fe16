"""A document from `file://`, `http://` or `https://`: bounded in size and time, and from nowhere else.

It blocks: a node calls it in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from penstock.oauth.errors import OAuthError

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

DOCUMENT_BYTES_MAX: Final = 1 << 20
TIMEOUT_S: Final = 10.0
REASON_CHARS_MAX: Final = 200
SCHEMES: Final = ("file", "http", "https")


def path_of(url: str) -> str | None:
    """The file that a URL names, or None if it names something elsewhere."""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None


def fetched(
    url: str, form: bytes | None = None, headers: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S
) -> bytes:
    """What stands there; with a form, what is answered to it."""
    path = path_of(url)
    try:
        data = _read(path) if path is not None else _asked(url, form, headers or {}, timeout_s)
    except (OSError, ValueError) as failure:
        raise OAuthError(f"{url} cannot be read: {_reason(failure)}") from None
    if len(data) > DOCUMENT_BYTES_MAX:
        raise OAuthError(f"{url} has more than {DOCUMENT_BYTES_MAX} bytes")
    return data


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(DOCUMENT_BYTES_MAX + 1)


def _asked(url: str, form: bytes | None, headers: Mapping[str, str], timeout_s: float) -> bytes:
    # Only who is asked for keys or a token needs this module, and it is slow to load.
    from http.client import HTTPException
    from urllib.request import Request

    if url.partition("://")[0] not in SCHEMES:
        raise ValueError(f"only {', '.join(SCHEMES)} are read")
    try:
        with _opener().open(Request(url, form, dict(headers)), timeout=timeout_s) as answer:
            data: bytes = answer.read(DOCUMENT_BYTES_MAX + 1)
            return data
    except HTTPException as failure:
        raise ValueError(f"no answer of HTTP: {failure!r}") from None


def _opener() -> OpenerDirector:
    """One that goes nowhere else than it is sent: what is trusted is what stands at this place."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class Stays(HTTPRedirectHandler):
        def redirect_request(self, *args: Any, **kwargs: Any) -> None:
            return None

    return build_opener(Stays)


def _reason(failure: Exception) -> str:
    """What the other side said of a failure is worth reading; there may be much of it."""
    from urllib.error import HTTPError

    said = ""
    if isinstance(failure, HTTPError):
        said = failure.read(REASON_CHARS_MAX).decode(errors="replace")
        failure.close()
    return f"{failure} {said}".strip()[:REASON_CHARS_MAX]
