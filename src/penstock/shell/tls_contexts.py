"""The contexts of a node's listeners, and of its calls to others: made on first use, and anew when something changed.

Files and settings are looked at, at most once a second, when somebody is shaken hands with. Connections that stand keep
theirs. What cannot be used is told, and the context before is kept."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from typing import Final, NamedTuple

from penstock.core.base.settings import BrokerSettings
from penstock.shell import clock
from penstock.tls.contexts import client_context, server_context
from penstock.tls.expiry import earliest_expiry_s
from penstock.tls.settings import TlsError, TlsSettings, tls_settings
from penstock.tls.stores import key_pair

LOOK_EVERY_US: Final = 1_000_000
Stamps = tuple[tuple[int, int] | None, ...]


class Made(NamedTuple):
    """A context, and what it was made of."""

    context: ssl.SSLContext
    settings: TlsSettings
    stamps: Stamps
    expires_s: int | None
    """When the first of the certificates that are shown expires."""


class TlsContexts:
    """By listener, for both directions."""

    def __init__(self, settings: Callable[[], BrokerSettings], complain: Callable[[str], None]) -> None:
        self._settings = settings
        self._complain = complain
        self._made: dict[tuple[str, bool], Made] = {}
        self._looked_us: dict[tuple[str, bool], int] = {}

    def server(self, listener: str) -> ssl.SSLContext:
        """For those who call a listener; a TlsError says why there is none."""
        return self._get(listener, is_server=True)

    def client(self, listener: str) -> ssl.SSLContext:
        """To call a listener of another node."""
        return self._get(listener, is_server=False)

    def expiries_s(self) -> dict[str, int]:
        """By listener, when the first of the certificates expires that it shows; renewed ones are looked for."""
        for listener, is_server in list(self._made):
            self._get(listener, is_server)
        shown = ((listener, made.expires_s) for (listener, is_server), made in self._made.items() if is_server)
        return {listener: expires_s for listener, expires_s in shown if expires_s is not None}

    def _get(self, listener: str, is_server: bool) -> ssl.SSLContext:
        key = listener, is_server
        made, now_us = self._made.get(key), clock.steady_us()
        if made is not None and now_us - self._looked_us[key] < LOOK_EVERY_US:
            return made.context
        self._looked_us[key] = now_us
        wanted = tls_settings(self._settings().of_listener(listener).__getitem__)
        stamps = _stamps(wanted)
        if made is not None and (made.settings, made.stamps) == (wanted, stamps):
            return made.context
        try:
            context = server_context(wanted) if is_server else client_context(wanted)
        except TlsError as failure:
            if made is None:
                raise
            self._complain(f"listener {listener} goes on with the certificates it has: {failure}")
            return made.context
        pair = key_pair(wanted.keys)
        expires_s = None if pair is None else earliest_expiry_s(pair.certificates)
        self._made[key] = Made(context, wanted, stamps, expires_s)
        return context


def _stamps(settings: TlsSettings) -> Stamps:
    """When the files were written; None where one cannot be seen."""
    return tuple(map(_stamp, settings.files))


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
