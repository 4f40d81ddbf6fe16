"""A node in this process: a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress

from penstock.core.node.node import Node
from penstock.core.node.observing.event_log import Fact
from penstock.shell.main import make_runner
from penstock.testing.faults import INJECT_S_MAX, Fault, Faults
from penstock.testing.serving import Ports, serve

_LOG = logging.getLogger("penstock")
LEAVE_S_MAX = 5.0


class Inside:
    """Starts when it is made; `stop` waits for a clean end."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._talk: list[str] = []
        self._ready: Future[Ports] = Future()
        self._done: Future[int] = Future()
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._faults: Faults
        self._thread = threading.Thread(target=self._run, args=(settings,), name="penstock", daemon=True)
        self._thread.start()

    def wait_ready(self, timeout_s: float) -> Ports:
        return self._ready.result(timeout_s)

    def inject(self, fault: Fault | None) -> None:
        """Add a fault; None: forget all."""
        done: Future[None] = Future()

        def act() -> None:
            self._faults.act(fault)
            done.set_result(None)

        self._loop.call_soon_threadsafe(act)
        done.result(INJECT_S_MAX)

    def stop(self, timeout_s: float) -> int:
        if not self._done.done():
            self._loop.call_soon_threadsafe(self._stop.set)
        code = self._done.result(timeout_s)
        self._thread.join(timeout_s)
        return code

    def leave(self) -> None:
        """End without a clean stop, for which an interpreter that ends starts no work any more. Its thread must have
        ended before: one that comes back from the loop, which is in C, to an interpreter that is gone crashes."""
        if self._ready.done() and not self._done.done():
            # It may be ending by itself.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(LEAVE_S_MAX)

    def talk(self) -> str:
        """What the node has said so far."""
        return "\n".join(self._talk)

    def _run(self, settings: Mapping[str, str]) -> None:
        try:
            with make_runner() as runner:
                code = runner.run(self._serve(settings))
        except BaseException as failure:
            # Whoever waits, for the start or for the end, hears of it.
            for waited in (self._ready, self._done):
                if not waited.done():
                    waited.set_exception(failure)
        else:
            self._done.set_result(code)

    async def _serve(self, settings: Mapping[str, str]) -> int:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        return await serve(settings, self._tell, self._serving, self._stop)

    def _serving(self, ports: Ports, node: Node) -> None:
        self._faults = Faults(node)
        self._ready.set_result(ports)

    def _tell(self, fact: Fact) -> None:
        self._talk.append(f"{fact.level}: {fact.component}: {fact.text}")
        _LOG.log(getattr(logging, fact.level.upper(), logging.INFO), "%s: %s", fact.component, fact.text)
