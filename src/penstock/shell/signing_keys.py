"""The keys that a node's listeners check tokens with: fetched in threads, kept when their place is out of reach.

Listeners that name the same place in the same way share what stands there. A file is looked at every second; what is
elsewhere is fetched as the settings say, and soon when a token names a key that is not known.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Final, NamedTuple

from penstock.core.base.endpoints import AUTHENTICATING
from penstock.core.base.mechanisms import OAUTHBEARER
from penstock.core.base.ports import Signature
from penstock.core.base.settings import BrokerSettings
from penstock.oauth.errors import OAuthError
from penstock.oauth.fetching import fetched, path_of
from penstock.oauth.key_set import KeySet, read_key_set
from penstock.oauth.schedule import Schedule
from penstock.shell import clock

LOOK_EVERY_MS: Final = 1_000
"""At a file."""
FIRST_S_MAX: Final = 10.0
"""How long a node waits for keys before it serves without them; until they come it refuses all tokens."""

Say = Callable[[str, str], None]
"""A level and a text for the log."""


class Place(NamedTuple):
    """Where keys are, and how often they are fetched."""

    url: str
    refresh_ms: int
    backoff_ms: int
    backoff_ms_max: int


class Source:
    """The keys of one place."""

    def __init__(self, place: Place, say: Say) -> None:
        self.url = place.url
        self._path = path_of(place.url)
        refresh_ms = place.refresh_ms if self._path is None else LOOK_EVERY_MS
        self._schedule = Schedule(refresh_ms, place.backoff_ms, place.backoff_ms_max)
        self._say = say
        self._sooner = asyncio.Event()
        self._stamp: tuple[int, int] | None = None
        self._is_well = True
        self.keys: KeySet | None = None
        self.first = asyncio.Event()
        """Set once it has been tried."""

    def refusal(self, signature: Signature) -> str | None:
        if self.keys is None:
            return f"there are no keys yet from {self.url}"
        key_id = signature.key_id
        if key_id is not None and not self.keys.knows(key_id) and self._schedule.missed(key_id, clock.wall_ms()):
            self._sooner.set()
        return self.keys.refusal(signature)

    async def keep(self) -> None:
        """Fetch whenever it is time, until cancelled."""
        while True:
            wait_ms = self._schedule.due_ms - clock.wall_ms()
            if wait_ms <= 0:
                await self._fetch()
                self.first.set()
                continue
            self._sooner.clear()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._sooner.wait(), wait_ms / 1000)

    async def _fetch(self) -> None:
        try:
            found = await in_thread(self._changed)
        except OAuthError as failure:
            self._failed(failure)
            return
        self._schedule.loaded(clock.wall_ms())
        if found is not None:
            self.keys = found
            self._say("info", f"{len(found)} keys that check tokens were read from {self.url}")
        self._is_well = True

    def _failed(self, failure: OAuthError) -> None:
        self._schedule.failed(clock.wall_ms())
        if self._is_well:
            known = "the keys from before go on" if self.keys is not None else "no token is taken"
            self._say("warning", f"{failure}; {known}, and it is tried again")
        self._is_well = False

    def _changed(self) -> KeySet | None:
        """In a thread. None: the file is still the one that was read."""
        stamp = None if self._path is None else _stamp(self._path)
        if stamp is not None and stamp == self._stamp:
            return None
        found = read_key_set(fetched(self.url), self.url)
        self._stamp = stamp
        return found


class ListenersKeys:
    """Of each listener that takes tokens the place its keys come from."""

    def __init__(self, settings: BrokerSettings, say: Say) -> None:
        sources: dict[Place, Source] = {}
        self._sources = {name: sources.setdefault(place, Source(place, say)) for name, place in places(settings)}
        self._tasks: list[asyncio.Task[None]] = []

    def refusal(self, listener: str, signature: Signature) -> str | None:
        return self._sources[listener].refusal(signature)

    async def start(self) -> None:
        """Fetch everything once, as far as it can be had soon. A file that cannot be read ends the start."""
        sources = set(self._sources.values())
        self._tasks = [asyncio.create_task(source.keep()) for source in sources]
        if self._tasks:
            tried = asyncio.gather(*(source.first.wait() for source in sources))
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(tried, FIRST_S_MAX)
        for source in sources:
            if source.keys is None and path_of(source.url) is not None:
                raise OAuthError(f"sasl.oauthbearer.jwks.endpoint.url: {source.url} holds no keys that can be read")

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


def places(settings: BrokerSettings) -> list[tuple[str, Place]]:
    """The listeners that take tokens, each with the place of its keys."""
    found = []
    for endpoint in (*settings.listeners.broker, *settings.listeners.controller):
        own = settings.of_listener(endpoint.name)
        if endpoint.protocol in AUTHENTICATING and OAUTHBEARER in own["sasl.enabled.mechanisms"]:
            names = ("url", "refresh.ms", "retry.backoff.ms", "retry.backoff.max.ms")
            values = (own.of_mechanism(OAUTHBEARER, f"sasl.oauthbearer.jwks.endpoint.{name}") for name in names)
            found.append((endpoint.name, Place(*values)))
    return found


async def in_thread(work: Callable[[], KeySet | None]) -> KeySet | None:
    """A thread that nobody waits for at the end: who answers slowly must not keep a node from stopping."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[KeySet | None] = loop.create_future()

    def settle(found: KeySet | None, failure: Exception | None) -> None:
        if done.cancelled():
            return
        if failure is None:
            done.set_result(found)
        else:
            done.set_exception(failure)

    def run() -> None:
        outcome: tuple[KeySet | None, Exception | None]
        try:
            outcome = work(), None
        except Exception as failure:
            outcome = None, failure
        # The loop may have ended meanwhile.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, *outcome)

    Thread(target=run, name="signing-keys", daemon=True).start()
    return await done


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino
