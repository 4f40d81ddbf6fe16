"""Penstock: a commit log that speaks Kafka's wire protocol.

The house at a glance: `core` decides and never waits, `shell` performs what it decided, everything else is a user of
the two. `docs/architecture.md` walks through it path by path.

For programs there are `Producer`, `Consumer` and `Admin`; they are loaded when they are first named, and need the extra
`client`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from penstock.api.admin import Admin as Admin
    from penstock.api.admin import TopicInfo as TopicInfo
    from penstock.api.async_admin import AsyncAdmin as AsyncAdmin
    from penstock.api.async_consumer import AsyncConsumer as AsyncConsumer
    from penstock.api.async_processing import process_async as process_async
    from penstock.api.async_processing import read_process_write_async as read_process_write_async
    from penstock.api.async_producer import AsyncProducer as AsyncProducer
    from penstock.api.consumer import Consumer as Consumer
    from penstock.api.errors import NotAuthorized as NotAuthorized
    from penstock.api.errors import PenstockError as PenstockError
    from penstock.api.errors import ProducerFenced as ProducerFenced
    from penstock.api.errors import TimedOut as TimedOut
    from penstock.api.errors import TopicExists as TopicExists
    from penstock.api.errors import TopicUnknown as TopicUnknown
    from penstock.api.errors import TransactionAborted as TransactionAborted
    from penstock.api.processing import process as process
    from penstock.api.processing import read_process_write as read_process_write
    from penstock.api.producer import Producer as Producer
    from penstock.api.schemas import Schemas as Schemas
    from penstock.api.schemas import frame as frame
    from penstock.api.schemas import unframe as unframe
    from penstock.api.values import Record as Record
    from penstock.api.values import Sent as Sent
    from penstock.api.values import to_json as to_json
    from penstock.core.delivery.policy import RetryPolicy as RetryPolicy

__version__ = "0.1.0"

WHERE_IT_RUNS = "Penstock runs on Linux and macOS, and on Windows inside WSL"

_HOMES: Final = {
    "api.admin": ("Admin", "TopicInfo"),
    "api.async_admin": ("AsyncAdmin",),
    "api.async_consumer": ("AsyncConsumer",),
    "api.async_processing": ("process_async", "read_process_write_async"),
    "api.async_producer": ("AsyncProducer",),
    "api.consumer": ("Consumer",),
    "api.errors": (
        *("NotAuthorized", "PenstockError", "ProducerFenced", "TimedOut"),
        *("TopicExists", "TopicUnknown", "TransactionAborted"),
    ),
    "api.processing": ("process", "read_process_write"),
    "api.producer": ("Producer",),
    "api.schemas": ("Schemas", "frame", "unframe"),
    "api.values": ("Record", "Sent", "to_json"),
    "core.delivery.policy": ("RetryPolicy",),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Whoever only starts a node, or the command line, does not pay for a client."""
    if (home := _HOME_OF.get(name)) is None:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(import_module(f"penstock.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
