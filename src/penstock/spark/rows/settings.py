"""The `kafka.*` options that Spark's users write, as one frozen value that travels to the executors.

Spark hands such options to Kafka's Java client, which knows some two hundred. Here each belongs to one of four kinds:
it acts; it has no meaning for this client and is passed over with a warning; it asks for a kind of encryption or
authentication that does not exist here, and is refused; or Spark itself refuses it, because Spark decides about it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from penstock.client.errors import ClientError
from penstock.client.security import OPEN, SECURITY_SETTINGS, Security, security_of
from penstock.core.base.errors import PenstockError
from penstock.core.records.codecs import Codec

PREFIX: Final = "kafka."
FETCH_BYTES: Final = 8 * 1024 * 1024
BATCH_BYTES: Final = 512 * 1024
ISOLATION_LEVELS: Final = ("read_uncommitted", "read_committed")


class SettingRefused(PenstockError, ValueError):
    """An option that cannot be obeyed, in one line that says why."""


class ClientSettings(NamedTuple):
    """How to reach a cluster and how to talk to it. Equal settings share their connections."""

    bootstrap: str
    client_id: str = "penstock-spark"
    request_timeout_ms: int = 30_000
    # How long a read goes on trying while nothing comes.
    api_timeout_ms: int = 60_000
    # How long a written record may take until it is acknowledged.
    delivery_timeout_ms: int = 120_000
    # How long a transaction of an exactly-once sink may stay open: as long as a broker allows unless it was told more.
    transaction_timeout_ms: int = 900_000
    isolation: str = "read_uncommitted"
    fetch_bytes: int = FETCH_BYTES
    acks: int = -1
    codec: int = Codec.NONE
    batch_bytes: int = BATCH_BYTES
    idempotent: bool = True
    # Shows no secret when it is printed.
    security: Security = OPEN

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ClientSettings:
        """The settings among a query's options. `SettingRefused` names the first that cannot be obeyed."""
        given = {
            name.lower().removeprefix(PREFIX): value
            for name, value in options.items()
            if name.lower().startswith(PREFIX)
        }
        if not given.get("bootstrap.servers", "").strip():
            raise SettingRefused("the option kafka.bootstrap.servers is missing: name a broker, such as 127.0.0.1:9092")
        values: dict[str, Any] = {}
        ignored = []
        for name, value in sorted(given.items()):
            _refuse(name)
            if name in _ACTING:
                field, parse = _ACTING[name]
                values[field] = _parsed(name, value, parse)
            elif name not in _WITHOUT_MEANING and name not in SECURITY_SETTINGS:
                ignored.append(f"{PREFIX}{name}")
        if ignored:
            warnings.warn(f"these options have no meaning here and are ignored: {', '.join(ignored)}", stacklevel=2)
        return _consistent(cls(**values, security=_security(given)))


def _consistent(settings: ClientSettings) -> ClientSettings:
    """Idempotence needs every acknowledgement; who asks for fewer gives it up, as in Java's client."""
    return settings._replace(idempotent=settings.idempotent and settings.acks == -1)


def _refuse(name: str) -> None:
    """What is passed over must not leave a connection less safe than it was asked to be."""
    if name.startswith(("sasl.", "ssl.")) and name not in SECURITY_SETTINGS:
        known = ", ".join(f"{PREFIX}{each}" for each in SECURITY_SETTINGS)
        raise SettingRefused(f"kafka.{name} is not supported; there are {known}")
    if name in _SPARK_DECIDES:
        raise SettingRefused(f"kafka.{name} is not supported: {_SPARK_DECIDES[name]}")


def _security(given: Mapping[str, str]) -> Security:
    try:
        return security_of(given)
    except ClientError as failure:
        raise SettingRefused("; ".join(filter(None, (str(failure), failure.hint)))) from None


def _parsed(name: str, value: str, parse: Callable[[str], object]) -> object:
    try:
        return parse(value.strip())
    except (KeyError, ValueError):
        raise SettingRefused(f"kafka.{name} cannot be {value!r}") from None


def _positive(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise ValueError(text)
    return number


def _acks(text: str) -> int:
    return {"all": -1, "-1": -1, "1": 1, "0": 0}[text.lower()]


def _codec(text: str) -> int:
    return Codec[text.upper()]


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _isolation(text: str) -> str:
    if text.lower() not in ISOLATION_LEVELS:
        raise ValueError(text)
    return text.lower()


_ACTING: Final[Mapping[str, tuple[str, Callable[[str], object]]]] = {
    "bootstrap.servers": ("bootstrap", str),
    "client.id": ("client_id", str),
    "request.timeout.ms": ("request_timeout_ms", _positive),
    "default.api.timeout.ms": ("api_timeout_ms", _positive),
    "delivery.timeout.ms": ("delivery_timeout_ms", _positive),
    "transaction.timeout.ms": ("transaction_timeout_ms", _positive),
    "isolation.level": ("isolation", _isolation),
    # A task reads one partition, so the bound per partition is the one that counts.
    "max.partition.fetch.bytes": ("fetch_bytes", _positive),
    "acks": ("acks", _acks),
    "compression.type": ("codec", _codec),
    "batch.size": ("batch_bytes", _positive),
    "enable.idempotence": ("idempotent", _flag),
}

# Ordinary in jobs that come from Spark's own connector, and harmless to leave out: no warning.
_WITHOUT_MEANING: Final = frozenset(
    {
        "group.id",
        "fetch.max.bytes",
        "fetch.min.bytes",
        "fetch.max.wait.ms",
        "max.poll.records",
        "linger.ms",
        "retries",
        "max.in.flight.requests.per.connection",
        "buffer.memory",
    }
)

_SPARK_DECIDES: Final[Mapping[str, str]] = {
    "auto.offset.reset": "use startingOffsets to say where a query starts",
    "key.deserializer": "keys are bytes; decode them with DataFrame operations",
    "value.deserializer": "values are bytes; decode them with DataFrame operations",
    "key.serializer": "keys are written as the bytes they are",
    "value.serializer": "values are written as the bytes they are",
    "enable.auto.commit": "a query's progress is in its checkpoint",
    "interceptor.classes": "they could change what is read",
}

NAMES: Final = (*_ACTING, *SECURITY_SETTINGS, *sorted(_WITHOUT_MEANING), *_SPARK_DECIDES)
