"""Who writes exactly once: the name that its transactional ids begin with, and how a batch is told from the others.

A stream's name is its queryName; one that has none is named after its checkpoint, so that a job from Spark's own Kafka
sink changes one word. A batch query says queryName and, where it may be repeated, batchId.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from penstock.spark.rows.settings import ClientSettings, SettingRefused

NAME_CHARS_MAX: Final = 200
DIGEST_CHARS: Final = 12


class Delivery(Enum):
    """How often a row may be there when its batch was done again."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


class Identity(NamedTuple):
    """Travels to the tasks."""

    query: str
    checkpoint: str = ""
    # None: a stream tells the number of each batch itself; a batch query has the next one.
    batch: int | None = None


def delivery_of(options: Mapping[str, str], default: Delivery) -> Delivery:
    text = (options.get("delivery") or default.value).strip().lower()
    known = {each.value: each for each in Delivery}
    if text not in known:
        raise SettingRefused(f"the option delivery cannot be {text!r}: it is exactly-once or at-least-once")
    return known[text]


def stream_identity(options: Mapping[str, str], settings: ClientSettings) -> Identity:
    checkpoint = (options.get("checkpointLocation") or "").strip().rstrip("/")
    name = (options.get("queryName") or "").strip()
    if not name and not checkpoint:
        raise SettingRefused(
            "an exactly-once stream needs a name that stays the same: .queryName(...), or say delivery=at-least-once"
        )
    if not name:
        name = f"penstock-{hashlib.sha256(checkpoint.encode()).hexdigest()[:DIGEST_CHARS]}"
    return _checked(Identity(name, checkpoint), settings)


def batch_identity(options: Mapping[str, str], settings: ClientSettings) -> Identity:
    name = (options.get("queryName") or "").strip()
    if not name:
        raise SettingRefused("an exactly-once write needs a name that stays the same: the option queryName")
    number = (options.get("batchId") or "").strip()
    if number and not number.isdecimal():
        raise SettingRefused(f"the option batchId cannot be {number!r}: it is the number of the batch, from 0 on")
    return _checked(Identity(name, batch=int(number) if number else None), settings)


def _checked(identity: Identity, settings: ClientSettings) -> Identity:
    if len(identity.query) > NAME_CHARS_MAX:
        raise SettingRefused(f"the queryName of an exactly-once query has at most {NAME_CHARS_MAX} characters")
    if not settings.idempotent:
        raise SettingRefused(
            "what is not acknowledged by all replicas cannot be exactly once: leave kafka.acks and "
            "kafka.enable.idempotence out, or say delivery=at-least-once"
        )
    return identity
