"""Whether a name and a password belong together: as a broker says, or a file."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from pathlib import Path
from typing import Final

from penstock.client.blocking import Client
from penstock.client.errors import ClientError, Unreachable
from penstock.client.link import Link
from penstock.client.security import Security
from penstock.core.peer.login import Identity
from penstock.services.registry.access import Check

MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256")
LOGIN_SECONDS: Final = 10.0
_HASHED: Final = "sha256:"


def login_check(connect: Callable[[], Client], security: Security) -> Check:
    """A user of the cluster is who can log in there: we try it, and know no secret of anybody's."""
    own = security.identity
    mechanisms = MECHANISMS if own is None or own.mechanism not in MECHANISMS else (own.mechanism, *MECHANISMS)

    def check(name: str, password: str) -> bool:
        with connect() as client:
            client.retry(lambda: client.refresh(()))
            brokers = list(client.cluster.brokers.values())
        for mechanism in dict.fromkeys(mechanisms):
            identity = Identity(mechanism, name, password)
            for broker in brokers:
                try:
                    Link(
                        broker.host,
                        broker.port,
                        "penstock-registry",
                        LOGIN_SECONDS,
                        security._replace(identity=identity),
                    ).close()
                    return True
                except Unreachable:
                    continue
                except ClientError:
                    break
        return False

    return check


def file_check(path: str) -> Check:
    """Lines of `name: password` or `name: sha256:HEX`; what follows a comma, such as roles, is not looked at."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ClientError(f"{path} is not a text file", hint="its lines are name: password") from None
    users = {}
    for line in lines:
        name, colon, rest = line.partition(":")
        if colon and not line.lstrip().startswith("#"):
            users[name.strip()] = rest.partition(",")[0].strip()

    def check(name: str, password: str) -> bool:
        known = users.get(name)
        if known is None:
            return False
        if known.startswith(_HASHED):
            return hmac.compare_digest(known.removeprefix(_HASHED), hashlib.sha256(password.encode()).hexdigest())
        return hmac.compare_digest(known.encode(), password.encode())

    return check
