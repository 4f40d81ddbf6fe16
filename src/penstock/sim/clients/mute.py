"""A client that asks for much and never reads: the node must stop serving it, and nobody else."""

from __future__ import annotations

from penstock.core.wire.api.metadata import MetadataRequest, MetadataResponse
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.scheduler import SECOND
from penstock.sim.script import Script, Sleep

QUESTIONS = 200


class Mute:
    """Fills its connection, waits, and hangs up."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def script(self) -> Script[None]:
        """Ask without listening."""
        try:
            connection = yield from self._client.connect()
        except Disconnected:
            return
        connection.stop_reading()
        for _ in range(QUESTIONS):
            connection.ask(MetadataRequest(topics=None), MetadataResponse)
        yield Sleep(self._client.chance.between(SECOND, 20 * SECOND))
        connection.close()
