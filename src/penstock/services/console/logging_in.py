"""A user of the cluster is who can log in there. We try it, keep the password while the session lasts, and are him.

So the console has no rights of its own where a cluster asks who it is: its rules decide what each user sees and does.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from penstock.client.blocking import Client, parse_addresses
from penstock.client.errors import ClientError, Unreachable
from penstock.client.link import Link
from penstock.client.security import Security, security_of
from penstock.core.base.endpoints import AUTHENTICATING, ENCRYPTING, SecurityProtocol
from penstock.core.base.mechanisms import PLAIN, SCRAM_NUMBERS
from penstock.core.peer.login import Identity
from penstock.services.console.mistakes import Mistake

CLIENT_ID: Final = "penstock-console"
TIMEOUT_SECONDS: Final = 15.0
FAILURES_MAX: Final = 5
FAILURES_PER_HOST_MAX: Final = 50
FORGIVEN_SECONDS: Final = 60.0
NAMES_MAX: Final = 10_000


class Way(NamedTuple):
    """How clients reach the cluster; `mechanisms` are those that a user is tried with, none where nobody is asked."""

    bootstrap: str
    security: Security
    mechanisms: tuple[str, ...] = ()

    @property
    def asks(self) -> bool:
        return bool(self.mechanisms)

    def client(self, identity: Identity | None = None) -> Client:
        security = self.security if identity is None else self.security._replace(identity=identity)
        return Client(self.bootstrap, client_id=CLIENT_ID, timeout=TIMEOUT_SECONDS, security=security)

    def enter(self, name: str, password: str) -> Identity | None:
        """Who it is; None where no broker knows them so."""
        for mechanism in self.mechanisms:
            identity = Identity(mechanism, name, password)
            if self._is_let_in(identity):
                return identity
        return None

    def _is_let_in(self, identity: Identity) -> bool:
        away: Unreachable | None = None
        for host, port in parse_addresses(self.bootstrap):
            try:
                security = self.security._replace(identity=identity)
                Link(host, port, CLIENT_ID, TIMEOUT_SECONDS, security).close()
                return True
            except Unreachable as failure:
                away = failure
            except ClientError as failure:
                if failure.is_absence:
                    raise
                return False
        raise away or Mistake("no broker was named")


def way_of(bootstrap: str, settings: Mapping[str, str]) -> Way:
    """Where brokers ask who it is, the settings need to name nobody: their users come by themselves."""
    name = settings.get("security.protocol", "PLAINTEXT").strip().upper()
    protocol = SecurityProtocol.__members__.get(name)
    if protocol not in AUTHENTICATING:
        return Way(bootstrap, security_of(settings))
    is_encrypted = protocol in ENCRYPTING
    open_one = SecurityProtocol.SSL if is_encrypted else SecurityProtocol.PLAINTEXT
    mechanism = settings.get("sasl.mechanism", "")
    tried = [mechanism] if mechanism in (PLAIN, *SCRAM_NUMBERS) else []
    tried += sorted(SCRAM_NUMBERS, reverse=True)
    if is_encrypted:
        # A password that is sent as it is wants a connection that nobody reads.
        tried.append(PLAIN)
    security = security_of({**settings, "security.protocol": open_one.name})
    return Way(bootstrap, security, tuple(dict.fromkeys(tried)))


class Attempts:
    """Whoever guesses has to wait: who tries one user again and again, and who tries many from one place."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failed: OrderedDict[tuple[str, ...], list[float]] = OrderedDict()

    def check(self, user: str, host: str) -> None:
        for who, most in (((user, host), FAILURES_MAX), ((host,), FAILURES_PER_HOST_MAX)):
            if len(self._recent(who)) >= most:
                raise Mistake("too many attempts", f"wait {FORGIVEN_SECONDS:.0f} seconds", 429)

    def failed(self, user: str, host: str) -> None:
        for who in ((user, host), (host,)):
            self._failed[who] = [*self._recent(who), self._now()]
            self._failed.move_to_end(who)
        while len(self._failed) > NAMES_MAX:
            self._failed.popitem(last=False)

    def _recent(self, who: tuple[str, ...]) -> list[float]:
        return [at for at in self._failed.get(who, ()) if self._now() - at < FORGIVEN_SECONDS]
