"""`penstock registry`: one schema registry in the foreground, and what `penstock up --registry` starts as a child."""

from __future__ import annotations

import logging
import os
import socket
import ssl
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.cli.node_process import READY_FD_VARIABLE
from penstock.cli.service_process import refuse_busy
from penstock.cli.talk import Misused, Refused, say

if TYPE_CHECKING:
    from penstock.client.blocking import Client
    from penstock.client.security import Security
    from penstock.services.registry.access import Access
    from penstock.services.registry.serving import Listening

BOOTSTRAP = "127.0.0.1:9092"
CLIENT_ID = "penstock-registry"
TIMEOUT_SECONDS = 15.0
CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class Asked:
    """The options as they were given."""

    bootstrap: str
    port: int
    host: str
    advertised_host: str | None
    command_config: str | None
    topic: str
    group: str
    compatibility: str
    users: str | None
    authorize: bool
    tls_cert: str | None
    tls_key: str | None
    tls_ca: str | None


def registry(**options: object) -> int:
    """Serve until a signal comes."""
    asked = Asked(**options)  # type: ignore[arg-type]  # the table of commands has these very options
    try:
        from penstock.services.registry.electing import Identity
        from penstock.services.registry.registry import Settings
        from penstock.services.registry.serving import serve
    except ImportError as missing:
        raise Refused(f"a registry needs the package {missing.name}", "pip install 'penstock[registry]'") from None
    from penstock.client.errors import ClientError

    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    level = _level(asked.compatibility)
    connect, security = _connecting(asked)
    listening = _listen(asked)
    port = listening.socket.getsockname()[1]
    own = Identity("https" if asked.tls_cert else "http", asked.advertised_host or asked.host, port)
    settings = Settings(connect, own, asked.group, asked.topic, level)
    try:
        serve(settings, listening, lambda: _access(asked, connect, security), lambda: _ready(own.url))
    except ClientError as failure:
        raise Refused(str(failure), failure.hint) from None
    return 0


def _ready(url: str) -> None:
    say(f"registry: {url}")
    if (text := os.environ.pop(READY_FD_VARIABLE, None)) is not None:
        os.write(int(text), b"\n")
        os.close(int(text))


def _level(text: str) -> str:
    from penstock.schemas.levels import Level

    if text.upper() not in Level.__members__:
        raise Misused(f"{text} is no level of compatibility", f"there are {', '.join(Level)}")
    return text.upper()


def _connecting(asked: Asked) -> tuple[Callable[[], Client], Security]:
    """Each thread has a client of its own."""
    from penstock.client.blocking import Client, parse_addresses
    from penstock.client.errors import ClientError
    from penstock.client.security import security_of

    settings: Mapping[str, str] = {}
    if asked.command_config is not None or os.environ.get("PENSTOCK_COMMAND_CONFIG"):
        from penstock.cli.client_settings import command_settings

        settings = command_settings(asked.command_config or os.environ["PENSTOCK_COMMAND_CONFIG"])
    named = asked.bootstrap or os.environ.get("PENSTOCK_BOOTSTRAP") or settings.get("bootstrap.servers") or BOOTSTRAP
    try:
        security = security_of(settings)
        parse_addresses(named)
    except ClientError as failure:
        raise Misused(str(failure), failure.hint) from None

    def connect() -> Client:
        return Client(named, client_id=CLIENT_ID, timeout=TIMEOUT_SECONDS, security=security)

    return connect, security


def _listen(asked: Asked) -> Listening:
    from penstock.services.registry.serving import Listening

    refuse_busy(asked.port, asked.host, "--port")
    family = socket.AF_INET6 if ":" in asked.host else socket.AF_INET
    listener = socket.create_server((asked.host, asked.port), family=family, backlog=1024)
    # Those that are accepted have it, too: an answer's head must not wait for its body's acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if asked.tls_cert is None:
        return Listening(listener)
    try:
        own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        own.minimum_version = ssl.TLSVersion.TLSv1_2
        own.load_cert_chain(asked.tls_cert, asked.tls_key)
        others = ssl.create_default_context(cafile=asked.tls_ca)
    except (OSError, ssl.SSLError) as problem:
        raise Refused(f"the certificate cannot be used: {problem}", "name PEM files: --tls-cert, --tls-key") from None
    return Listening(listener, own, others)


def _access(asked: Asked, connect: Callable[[], Client], security: Security) -> Access:
    from penstock.services.registry.access import Access, Passwords, Rules
    from penstock.services.registry.users import file_check, login_check

    passwords = rules = None
    if asked.users == CLUSTER:
        passwords = Passwords(login_check(connect, security))
    elif asked.users is not None:
        passwords = Passwords(file_check(asked.users))
    if asked.authorize:
        if passwords is None:
            raise Misused("--authorize needs to know who asks", "give --users cluster, or --users FILE")
        rules = Rules(connect)
    return Access(passwords, rules)
