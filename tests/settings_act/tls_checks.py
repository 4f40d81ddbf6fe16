"""What settings do to certificates, shown or believed, by handshakes in memory."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from types import MappingProxyType
from typing import Any, Final

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from penstock.core.base.settings import SettingError
from penstock.shell.tls_contexts import TlsContexts
from penstock.tls.contexts import client_context, server_context
from penstock.tls.settings import Store, TlsError, TlsSettings
from tests.settings_act.trial import NOTHING, Settings, Trial
from tests.tls.certificates import Files, files
from tests.tls.shaking import Shaken, shake

BOTH: Final = ("TLSv1.2", "TLSv1.3")
LISTENERS: Final[Settings] = MappingProxyType(
    {
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,CLIENTS:SSL,OTHERS:SSL",
    }
)
KEY_PASSWORD: Final = "key password"


@cache
def folder() -> Path:
    made = mkdtemp(prefix="penstock-tls-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


@cache
def own() -> Files:
    return files(folder(), "node")


@cache
def other() -> Files:
    return files(folder(), "other")


def text(path: str) -> str:
    return Path(path).read_text()


@cache
def locked_key() -> str:
    key: Any = load_pem_private_key(text(own().key).encode(), None)
    kept: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(KEY_PASSWORD.encode()))
    return kept.decode()


def _pem(of: Files) -> TlsSettings:
    return TlsSettings(Store("PEM", of.pem), Store("PEM", of.ca), BOTH, "required")


def _contexts(trial: Trial, others: Settings) -> TlsContexts | None:
    try:
        world = trial.begin({**LISTENERS, **others})
    except SettingError:
        return None
    return TlsContexts(lambda: world.node.settings, lambda text: None)


def calls(trial: Trial, others: Settings = NOTHING, host: str = "localhost") -> Shaken | None:
    """What comes of it when this node calls somebody who wants to see a certificate of the same authority."""
    contexts = _contexts(trial, others)
    try:
        return None if contexts is None else shake(server_context(_pem(other())), contexts.client("OTHERS"), host)
    except TlsError:
        return None


def name_shown(trial: Trial, **others: str | None) -> str | None:
    """By this node, with a truststore that is right."""
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": own().ca}
    found = calls(trial, {**trust, **{key.replace("_", "."): value for key, value in others.items()}})
    return None if found is None else found.client


def is_trusting(trial: Trial, host: str = "localhost", **others: str | None) -> bool:
    """This node, with a keystore that is right."""
    keys = {"ssl.keystore.type": "PEM", "ssl.keystore.location": own().pem}
    return calls(trial, {**keys, **{key.replace("_", "."): value for key, value in others.items()}}, host) is not None


def is_called(trial: Trial, shows: bool, versions: tuple[str, ...] = BOTH) -> Shaken | None:
    """What comes of it when somebody calls this node, and shows a certificate or none."""
    stores = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": own().pem,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": own().ca,
    }
    contexts = _contexts(trial, stores)
    assert contexts is not None
    calling = _pem(other())._replace(protocols=versions)
    calling = calling if shows else calling._replace(keys=Store("PEM"))
    return shake(contexts.server("CLIENTS"), client_context(calling))


def lets_in_whoever(trial: Trial) -> bool:
    return is_called(trial, shows=False) is not None


def version_spoken(trial: Trial) -> str | None:
    found = is_called(trial, shows=True)
    return None if found is None else found.version


def principal_of_certificate(trial: Trial) -> str:
    secure = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": own().pem,
        "listeners": "PLAINTEXT://127.0.0.1:9092,CLIENTS://127.0.0.1:9094,CONTROLLER://127.0.0.1:9093",
    }
    connection = trial.begin({**LISTENERS, **secure}).node.connect("10.0.0.1", 1, "CLIENTS", "CN=Alice,O=Some")
    assert connection is not None
    return connection.context.principal.name
