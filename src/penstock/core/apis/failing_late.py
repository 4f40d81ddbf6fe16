"""A failed authentication is answered late, so that guessing takes time, and then the connection ends."""

from __future__ import annotations

from typing import Final

from penstock.core.node.node import Node
from penstock.core.node.serving.api import PENDING, Answer
from penstock.core.node.serving.slots import Slot
from penstock.core.wire.schema import Response

MUTED_MS: Final = 60_000
"""Longer than anybody waits for the answer: what follows is not looked at."""


def fail_late(node: Node, slot: Slot, response: Response) -> Answer:
    delay_ms: int = node.settings["connection.failed.authentication.delay.ms"]
    connection = slot.connection

    def fail() -> None:
        if not slot.gone:
            slot.reply(response)
            connection.close()

    connection.mute(delay_ms + MUTED_MS)
    node.deadlines.at(node.now_ms + delay_ms, fail)
    return PENDING
