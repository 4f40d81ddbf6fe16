"""One registry: the table, who leads, and how a change becomes a part of the topic.

All of this is touched by the loop alone; what the threads of `topic` and `electing` find, they hand over. A change is
decided, written and folded before the next one is looked at, so that what is decided is decided on all there is. What
was answered is in the topic; where nobody knows whether it is (the write timed out), the answer is an error, and the
next change begins with taking over anew, which finds out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.core.base.errors import ErrorCode
from penstock.core.records.record import Record
from penstock.core.schemas.table import SchemaTable
from penstock.services.registry.electing import Election, Identity
from penstock.services.registry.errors import RestError, store_failed, timed_out, too_large, unknown_leader
from penstock.services.registry.reading import Reader
from penstock.services.registry.topic import Change, Follower, Writer

LEADER_SECONDS_MAX: Final = 10.0
"""How long a change waits for somebody who writes."""
FOLD_SECONDS_MAX: Final = 10.0
FORWARDED_FOLD_SECONDS_MAX: Final = 1.0
THREAD_SECONDS_MAX: Final = 60.0
log = logging.getLogger("penstock.registry")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a registry was started."""

    connect: Callable[[], Client]
    own: Identity
    group: str = "schema-registry"
    topic: str = "_schemas"
    level: str = "BACKWARD"

    @property
    def transactional_id(self) -> str:
        return f"{self.group}-{self.topic}-writer"


class Registry:
    """What the handlers of requests work with."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.table = SchemaTable()
        self.reader = Reader()
        self.leader: Identity | None = None
        self.is_leader = False
        self.cluster_id = ""
        self._writer: Writer | None = None
        self._writing = asyncio.Lock()
        self._folded_to = 0
        # What is being read from the beginning; until it is all there, what was known before is served.
        self._filling, self._filled_to = self.table, 0
        self._news = asyncio.Condition()
        self._loaded = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._follower = Follower(settings.connect, settings.topic, self._take, self._begin, self._on_loaded)
        self._election = Election(settings.connect, settings.group, settings.own, self._on_leader)

    async def start(self) -> None:
        """Comes back when the topic has been read to its end."""
        self._follower.start()
        await self._loaded.wait()
        self._election.start()

    async def stop(self) -> None:
        self._follower.stop()
        await asyncio.to_thread(self._election.stop)
        if self._writer is not None:
            self._writer.close()

    # Writing

    async def known_leader(self) -> Identity:
        """Who writes; waits while nobody does."""
        try:
            async with asyncio.timeout(LEADER_SECONDS_MAX), self._news:
                await self._news.wait_for(lambda: self.leader is not None)
        except TimeoutError:
            raise unknown_leader() from None
        assert self.leader is not None
        return self.leader

    async def other_leader(self, former: Identity, seconds: float) -> None:
        """Waits until somebody else leads, or for so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(lambda: self.leader not in (None, former) or self.is_leader)

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[None]:
        """The only one who decides and writes, and knows all that was written before."""
        async with self._writing:
            if self._writer is None:
                await self._take_over()
            yield

    async def commit(self, changes: Sequence[Change]) -> int:
        """Write, and wait until it is folded; gives the offset of the last one. Within `changing`."""
        assert self._writing.locked()
        writer = self._writer
        if writer is None:
            raise unknown_leader()
        offset = await self._attempt(writer, lambda: writer.write(changes))
        await self.folded(offset)
        return offset

    async def folded(self, offset: int, seconds: float = FOLD_SECONDS_MAX) -> None:
        try:
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(lambda: self._folded_to > offset)
        except TimeoutError:
            self._drop_writer()
            raise timed_out("what was written is not read back in time") from None

    @property
    def last_offset(self) -> int:
        return self._folded_to - 1

    async def _take_over(self) -> None:
        def begin() -> Writer:
            return Writer(self.settings.connect(), self.settings.topic, self.settings.transactional_id)

        try:
            writer = await asyncio.to_thread(begin)
        except ClientError as failure:
            raise store_failed(str(failure)) from None
        offset = await self._attempt(writer, writer.take_over)
        self._writer = writer
        await self.folded(offset)

    async def _attempt(self, writer: Writer, write: Callable[[], int]) -> int:
        try:
            async with asyncio.timeout(THREAD_SECONDS_MAX):
                return await asyncio.to_thread(write)
        except TimeoutError:
            self._drop_writer()
            raise timed_out("the cluster took too long to write") from None
        except ClientError as failure:
            writer.close()
            self._drop_writer()
            if failure.code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
                raise too_large() from None
            log.warning("writing: %s", failure)
            said = f"Error while writing to the topic {self.settings.topic}: {failure}"
            raise (timed_out if failure.code == ErrorCode.REQUEST_TIMED_OUT else store_failed)(said) from None

    def _drop_writer(self) -> None:
        self._writer = None

    # What the threads hand over

    def _call(self, what: Callable[[], Any]) -> None:
        """Runs something on the loop, and waits for it."""

        async def run() -> None:
            what()
            async with self._news:
                self._news.notify_all()

        try:
            asyncio.run_coroutine_threadsafe(run(), self._loop).result(THREAD_SECONDS_MAX)
        except RuntimeError as failure:
            # The loop has ended, and with it all that this is for.
            raise ClientError(str(failure)) from None

    def _begin(self) -> None:
        def begin() -> None:
            self._filling, self._filled_to = SchemaTable(), 0

        self._call(begin)

    def _take(self, records: list[Record], next_offset: int) -> None:
        def take() -> None:
            for record in records:
                self._filling.replay(record.key, record.value)
            self._filled_to = next_offset
            if self._filling is self.table:
                self._folded_to = next_offset

        self._call(take)

    def _on_loaded(self) -> None:
        def show() -> None:
            self.table, self._folded_to = self._filling, self._filled_to
            self._loaded.set()

        self._call(show)

    def _on_leader(self, leader: Identity | None, is_own: bool) -> None:
        def learn() -> None:
            if (self.leader, self.is_leader) != (leader, is_own):
                log.info("leader: %s%s", leader.url if leader else "nobody", " (this one)" if is_own else "")
            if not is_own and self._writer is not None and not self._writing.locked():
                self._writer.close()
            if not is_own:
                self._drop_writer()
            self.leader, self.is_leader = leader, is_own

        self._call(learn)

    @property
    def is_ready(self) -> bool:
        return self._loaded.is_set()

    def known_error(self, failure: Exception) -> RestError:
        """What nobody has foreseen."""
        log.error("a request failed", exc_info=failure)
        return RestError(500, "Internal Server Error")
