"""`penstock console`: the web console in the foreground, and what `penstock up --console` starts as a child."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.cli.node_process import READY_FD_VARIABLE
from penstock.cli.node_settings import joined_address
from penstock.cli.service_process import refuse_busy
from penstock.cli.talk import Misused, Refused, say

if TYPE_CHECKING:
    from penstock.services.console.decoding import Mask
    from penstock.services.console.logging_in import Way
    from penstock.services.console.registry import Place

BOOTSTRAP = "127.0.0.1:9092"
LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options as they were given."""

    bootstrap: str
    port: int
    host: str
    advertised_host: list[str]
    command_config: str | None
    registry: str | None
    read_only: bool
    viewer: list[str]
    mask: list[str]
    tls_cert: str | None
    tls_key: str | None


def console(**options: object) -> int:
    """Serve until a signal comes."""
    asked = Asked(**options)  # type: ignore[arg-type]  # the table of commands has these very options
    try:
        from penstock.services.console.app import Settings
        from penstock.services.console.serving import serve
    except ImportError as missing:
        raise Refused(f"a console needs the package {missing.name}", "pip install 'penstock[console]'") from None
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    client = _client_settings(asked)
    way = _way(asked, client)
    _refuse_open(asked, way)
    tls = _tls(asked)
    refuse_busy(asked.port, asked.host, "--port")
    family = socket.AF_INET6 if ":" in asked.host else socket.AF_INET
    listener = socket.create_server((asked.host, asked.port), family=family, backlog=128)
    port = listener.getsockname()[1]
    settings = Settings(
        way,
        _hosts(asked),
        is_encrypted=tls is not None,
        is_read_only=asked.read_only,
        viewers=frozenset(asked.viewer),
        # Browsers do not tell ports apart: another console of this machine has another one.
        cookie=f"penstock_console_{port}",
        facts={"registry": _registry(asked, client), "bootstrap": way.bootstrap, "masks": _masks(asked)},
    )
    name = next(iter(asked.advertised_host), asked.host)
    url = f"{'http' if tls is None else 'https'}://{joined_address(name, port)}"
    serve(settings, listener, tls, lambda: _ready(url))
    return 0


def _ready(url: str) -> None:
    say(f"console: {url}")
    if (text := os.environ.pop(READY_FD_VARIABLE, None)) is not None:
        os.write(int(text), b"\n")
        os.close(int(text))


def _client_settings(asked: Asked) -> Mapping[str, str]:
    file = asked.command_config or os.environ.get("PENSTOCK_COMMAND_CONFIG")
    if not file:
        return {}
    from penstock.cli.client_settings import command_settings

    return command_settings(file)


def _registry(asked: Asked, settings: Mapping[str, str]) -> Place | None:
    """Whom the settings trust at brokers, the console trusts at the registry, too."""
    from penstock.services.console.registry import Place

    is_pem = settings.get("ssl.truststore.type", "").upper() == "PEM"
    ca = settings.get("ssl.truststore.location") if is_pem else None
    return None if asked.registry is None else Place(asked.registry, ca)


def _way(asked: Asked, settings: Mapping[str, str]) -> Way:
    from penstock.client.blocking import parse_addresses
    from penstock.client.errors import ClientError
    from penstock.services.console.logging_in import way_of

    named = asked.bootstrap or os.environ.get("PENSTOCK_BOOTSTRAP") or settings.get("bootstrap.servers") or BOOTSTRAP
    try:
        parse_addresses(named)
        return way_of(named, settings)
    except ClientError as failure:
        raise Misused(str(failure), failure.hint) from None


def _refuse_open(asked: Asked, way: Way) -> None:
    """Whoever can reach it can do what it can: without names and encryption that is nobody but this machine."""
    if _is_loopback(asked.host):
        return
    if not way.asks:
        raise Misused(
            "the cluster does not ask who it is, so the console listens on loopback only",
            "leave --host out, and reach it through a tunnel: ssh -L 8080:127.0.0.1:8080 HOST",
        )
    if asked.tls_cert is None:
        raise Misused("passwords would be sent as they are", "serve HTTPS: --tls-cert FILE --tls-key FILE")
    if asked.host in ("0.0.0.0", "::") and not asked.advertised_host:
        raise Misused("on all addresses it has to know its name", "name it: --advertised-host NAME")


def _masks(asked: Asked) -> tuple[Mask, ...]:
    """Topics by pattern, and a path in their records."""
    from penstock.services.console.decoding import PARTS, Mask

    found = []
    for text in asked.mask:
        topics, _, path = text.partition(":")
        steps = tuple(path.split("."))
        if not topics or steps[0] not in PARTS or not all(steps):
            raise Misused(f"--mask {text}: that names no field", "such as customers.*:value.email")
        found.append(Mask(topics, steps))
    return tuple(found)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _hosts(asked: Asked) -> list[str]:
    """What may stand in the address that a browser shows."""
    return [asked.host, *asked.advertised_host, *(LOOPBACK if _is_loopback(asked.host) else ())]


def _tls(asked: Asked) -> ssl.SSLContext | None:
    if asked.tls_cert is None:
        return None
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(asked.tls_cert, asked.tls_key)
    except (OSError, ssl.SSLError) as problem:
        raise Refused(f"the certificate cannot be used: {problem}", "name PEM files: --tls-cert, --tls-key") from None
    return context
