"""Connections that outlive a task: Spark reuses its Python workers, and a stream asks them again every batch."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from penstock.client.blocking import Client
from penstock.spark.rows.settings import ClientSettings

# Idle clients per worker. A worker runs one task at a time, of one query or a few.
CLIENTS_MAX: Final = 8

_idle: dict[ClientSettings, list[Client]] = {}
_lock = threading.Lock()


@contextmanager
def client_of(settings: ClientSettings) -> Iterator[Client]:
    """A client for one thread, kept for the next task unless this one fails."""
    client = _take(settings)
    try:
        yield client
    except GeneratorExit:
        # Spark has seen enough, as with a LIMIT: nothing is wrong with the client.
        _give_back(settings, client)
        raise
    except BaseException:
        # It may still expect an answer, and its picture of the cluster may be the reason.
        client.close()
        raise
    _give_back(settings, client)


def _take(settings: ClientSettings) -> Client:
    with _lock:
        if _idle.get(settings):
            return _idle[settings].pop()
    return Client(
        settings.bootstrap,
        client_id=settings.client_id,
        timeout=settings.request_timeout_ms / 1000,
        patient=True,
        security=settings.security,
    )


def _give_back(settings: ClientSettings, client: Client) -> None:
    with _lock:
        if sum(map(len, _idle.values())) < CLIENTS_MAX:
            _idle.setdefault(settings, []).append(client)
            return
    client.close()


def close_idle() -> None:
    """Close what is kept; for programs that end and tests that count."""
    with _lock:
        for clients in _idle.values():
            for client in clients:
                client.close()
        _idle.clear()
