"""A console's process: a socket in, signals out."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import ssl
from collections.abc import Callable
from typing import Final

from penstock.services.console.app import Console, Settings

CONNECTIONS_MAX: Final = 500
KEEP_ALIVE_SECONDS: Final = 30
STOP_SECONDS_MAX: Final = 2


def serve(
    settings: Settings, listener: socket.socket, tls: ssl.SSLContext | None, on_ready: Callable[[], None]
) -> None:
    """Until a signal comes."""
    asyncio.run(_serve(settings, listener, tls, on_ready))


async def _serve(
    settings: Settings, listener: socket.socket, tls: ssl.SSLContext | None, on_ready: Callable[[], None]
) -> None:
    import uvicorn

    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    config = uvicorn.Config(
        Console(settings).app(),
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS_MAX,
    )
    config.load()
    if tls is not None:
        config.ssl = tls
    # What is there now stays; looking through it for garbage would cost each collection.
    gc.freeze()
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    stopped = asyncio.create_task(stop.wait())
    on_ready()
    await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
    stopped.cancel()
