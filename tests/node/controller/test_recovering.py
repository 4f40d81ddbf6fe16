"""A node that recovers its logs takes part in the quorum meanwhile: it votes, leads and decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from penstock.core.base.ports import Pause, Steps
from penstock.core.log.directory import LogDirectory
from penstock.core.log.log import Log
from penstock.sim.scheduler import SECOND
from tests.node.controller.nodes import Nodes
from tests.node.controller.test_nodes import creation

LONG = 600 * SECOND


@pytest.fixture
def recovery(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whoever starts now recovers its logs until the list is not empty."""
    is_over: list[bool] = []
    load = LogDirectory.load

    def slow(
        self: LogDirectory, settings_for: Callable[[str], object], now_ms: int, *, went_on: bool
    ) -> Steps[dict[tuple[str, int], Log]]:
        while not is_over:
            yield Pause()
        return (yield from load(self, settings_for, now_ms, went_on=went_on))  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(LogDirectory, "load", slow)
    return is_over


@pytest.mark.slow
def test_who_recovers_its_logs_controls_the_cluster(recovery: list[bool]) -> None:
    recovery.append(True)
    cluster = Nodes()
    assert cluster.ask(1, creation("before")).topics[0].error_code == 0
    recovery.clear()
    controller = cluster.controller
    slow, other = (number for number in (1, 2, 3) if number != controller)
    cluster.world.sites[slow].crash(SECOND)
    cluster.wait(lambda: cluster.world.sites[slow].node is not None)
    cluster.world.scheduler.run_until(cluster.world.scheduler.now_us + 3 * SECOND)
    assert cluster.node(slow).state == "starting"
    cluster.world.sites[controller].crash(LONG)
    # Whoever leads now needs the vote of the one that recovers. Let that one lead.
    cluster.wait(cluster.has_controller, 10)
    if cluster.controller == other:
        cluster.world.sites[other].pause()
        cluster.world.scheduler.run_until(cluster.world.scheduler.now_us + 2 * SECOND)
        cluster.world.sites[other].resume()
        cluster.wait(lambda: cluster.has_controller() and cluster.controller == slow, 20)
    assert cluster.node(slow).state == "starting"
    answer = cluster.ask(other, creation("meanwhile", replicas=1)).topics[0]
    assert answer.error_code == 0
    recovery.append(True)
    cluster.wait(lambda: cluster.node(slow).state == "running")
    cluster.wait(lambda: cluster.node(slow).image.topic("meanwhile") is not None)
