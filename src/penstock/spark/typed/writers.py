"""The schemas of writers, by what stands in front of values. Kept as long as the worker process lives: an id means the
same for ever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

from penstock.client.errors import ClientError
from penstock.client.registry import Refusal, RegistryClient
from penstock.spark.typed.pinned import Text, text_of

GUID_MAGIC: Final = 1
NOT_FOUND: Final = 404
ATTEMPTS_MAX: Final = 5
"""How often a registry that does not answer is asked, before the task fails."""
PAUSE_SECONDS: Final = 1.0
UNKNOWN_ATTEMPTS_MAX: Final = 2
"""A registry that follows another may be behind the producer for a moment."""
SECOND_LOOKS_MAX: Final = 10
"""So often in a task: made-up ids must not hold it up."""
UNKNOWN_MAX: Final = 10_000

_texts: dict[str, dict[bytes, Text]] = {}


class UnknownSchema(ValueError):
    """The registry does not know what the value says it was written with."""


class Writers:
    """What a registry knows. It is asked for what this process has not seen before. That it does not answer fails the
    task, and makes no record a bad one."""

    def __init__(self, url: str, pause: Callable[[float], None] = time.sleep) -> None:
        self._client = RegistryClient(url)
        self._pause = pause
        self._known = _texts.setdefault(url, {})
        self._unknown: set[bytes] = set()

    def __call__(self, mark: bytes) -> Text:
        """By a zero and an id, or by a one and a GUID."""
        if mark not in self._known:
            found = None if mark in self._unknown else self._asked(mark)
            if found is None:
                self._forget_some()
                self._unknown.add(mark)
                raise UnknownSchema(f"the registry has no {name_of(mark)}")
            self._known[mark] = found
        return self._known[mark]

    def _asked(self, mark: bytes) -> Text | None:
        attempts = 0
        while True:
            attempts += 1
            try:
                return self._read(mark)
            except ClientError as failure:
                is_missing = isinstance(failure, Refusal) and NOT_FOUND in (failure.number, failure.number // 100)
                if is_missing and (attempts >= UNKNOWN_ATTEMPTS_MAX or len(self._unknown) >= SECOND_LOOKS_MAX):
                    return None
                if attempts >= ATTEMPTS_MAX:
                    raise
            self._pause(PAUSE_SECONDS)

    def _read(self, mark: bytes) -> Text:
        client = self._client
        found = client.by_guid(_guid(mark)) if mark[0] == GUID_MAGIC else client.by_id(int.from_bytes(mark[1:]))
        return text_of(client, found, name_of(mark))

    def _forget_some(self) -> None:
        if len(self._unknown) >= UNKNOWN_MAX:
            self._unknown.clear()


def name_of(mark: bytes) -> str:
    if mark[0] == GUID_MAGIC:
        return f"schema with the GUID {_guid(mark)}"
    return f"schema with the id {int.from_bytes(mark[1:])}"


def _guid(mark: bytes) -> str:
    return str(UUID(bytes=mark[1:]))
