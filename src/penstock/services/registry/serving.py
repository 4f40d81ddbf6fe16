"""A registry's process: sockets in, signals out."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import ssl
from collections.abc import Callable
from typing import Final, NamedTuple

from penstock.client.errors import ClientError
from penstock.services.registry.access import Access
from penstock.services.registry.app import App
from penstock.services.registry.registry import Registry, Settings
from penstock.services.registry.topic import ensure_topic

CONNECTIONS_MAX: Final = 4_000
KEEP_ALIVE_SECONDS: Final = 30
STOP_SECONDS_MAX: Final = 5
log = logging.getLogger("penstock.registry")


class Listening(NamedTuple):
    """A socket that is bound, and how connections to it are encrypted; others are asked with the last one."""

    socket: socket.socket
    tls: ssl.SSLContext | None = None
    to_others: ssl.SSLContext | None = None


def serve(
    settings: Settings, listening: Listening, make_access: Callable[[], Access], on_ready: Callable[[], None]
) -> None:
    """Until a signal comes."""
    asyncio.run(_serve(settings, listening, make_access, on_ready))


async def _serve(
    settings: Settings, listening: Listening, make_access: Callable[[], Access], on_ready: Callable[[], None]
) -> None:
    import uvicorn

    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    registry = Registry(settings)
    registry.cluster_id = await asyncio.to_thread(_look_first, settings)
    app = App(registry, make_access(), listening.to_others)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        interface="asgi3",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS_MAX,
    )
    config.load()
    if listening.tls is not None:
        config.ssl = listening.tls
    server = uvicorn.Server(config)
    starting = asyncio.create_task(registry.start())
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait((starting, stopped), return_when=asyncio.FIRST_COMPLETED)
    if not stop.is_set():
        starting.result()
        # What is there now stays; looking through it for garbage would cost each collection.
        gc.freeze()
        serving = asyncio.create_task(server.serve(sockets=[listening.socket]))
        on_ready()
        await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
        server.should_exit = True
        await serving
    starting.cancel()
    await registry.stop()


def _look_first(settings: Settings) -> str:
    """The cluster's id. What will not get better by waiting is said at once."""
    with settings.connect() as client:
        client.retry(lambda: client.refresh(()))
        ensure_topic(client, settings.topic)
        if client.cluster.cluster_id is None:
            raise ClientError("the cluster does not say its id")
        return client.cluster.cluster_id
