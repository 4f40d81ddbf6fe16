"""When the controller is asked to do without a damaged replica: at once, however lately it was asked about another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.core.node.deadlines import Deadlines
from penstock.core.node.storage.losses import AGAIN_MS, Losses


class Host:
    """A clock and its timers."""

    def __init__(self) -> None:
        self.deadlines = Deadlines()
        self.now_ms = 0

    def at(self, now_ms: int) -> None:
        self.now_ms = self.deadlines.now_ms = now_ms
        self.deadlines.run_due(now_ms)


class Log:
    """One that other replicas have, too."""

    topic, topic_id, is_gone = "t", bytes(16), False

    def __init__(self, partition: int) -> None:
        self.partition = partition


def log(partition: int) -> Any:
    return Log(partition)


def test_what_is_found_is_asked_for_at_once() -> None:
    host, asked = Host(), []
    around: Any = SimpleNamespace(node_id=1, broker_epoch=1)

    def ask(request: Any) -> None:
        asked.append([each.partition_index for topic in request.directories[0].topics for each in topic.partitions])

    losses = Losses(host, around, ask, lambda log: None)  # type: ignore[arg-type]  # all that it needs of a host
    first = log(0)
    losses.found(first, 0)
    losses.found(log(1), 0)
    host.at(0)
    assert asked == [[0, 1]], "what is found together is one question"
    host.at(10)
    losses.found(log(2), 0)
    losses.found(first, 5)
    host.at(11)
    assert asked[1:] == [[0, 1, 2]]
    host.at(11 + AGAIN_MS - 2)
    assert len(asked) == 2
    host.at(11 + AGAIN_MS)
    assert len(asked) == 3
