"""Real nodes on simulated machines: a broker that joins gets its share, though the controller dies on the way."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.core.metadata.image import TopicImage
from penstock.core.metadata.moving import is_throttled, is_whole, pending
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest
from penstock.sim.cluster import ClusterNodes
from tests.node.towns import Town

CONTROLLERS = (1, 2, 3)
BROKERS = (4, 5, 6)
NEWCOMER = 7
PARTITIONS = 12
SHARE = 9
RATE = "1000000"
SETTINGS = {
    "auto.balance.interval.ms": "500",
    "auto.balance.moves.max": "2",
    "auto.balance.throttle.bytes.per.second": RATE,
}


class Growing(Town):
    def __init__(self) -> None:
        super().__init__(NEWCOMER, ClusterNodes(NEWCOMER, SETTINGS, controllers=len(CONTROLLERS)))
        self.boot(*CONTROLLERS, *BROKERS)
        wanted = CreatableTopic(name="t", num_partitions=PARTITIONS, replication_factor=3)
        answer = self.ask(BROKERS[0], CreateTopicsRequest(topics=[wanted], timeout_ms=20_000))
        assert answer.topics[0].error_code == 0, answer

    @property
    def topic(self) -> TopicImage:
        found = self.node(self.leader).image.topic("t")
        assert found is not None
        return found

    def held(self) -> Counter[int]:
        return Counter(replica for replicas in self.topic.replicas for replica in replicas)

    def is_grown(self) -> bool:
        return (
            self.has_leader() and self.held()[NEWCOMER] == SHARE and not self.node(self.leader).image.tally.reassigning
        )

    def is_done(self) -> bool:
        image = self.node(self.leader).image
        return not pending(image) and not is_throttled(image, RATE)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [0, 2])
def test_a_broker_that_joins_gets_its_share(kills: int) -> None:
    town = Growing()
    town.boot(NEWCOMER)
    for kill in range(kills):
        town.wait(lambda kill=kill: town.has_leader() and town.held()[NEWCOMER] >= 2 * kill + 1)  # type: ignore[misc]  # bound now
        town.world.sites[town.leader].crash(5_000_000)
    town.wait(town.is_grown, 120)
    town.wait(lambda: town.has_leader() and town.is_done(), 60)
    assert town.held() == {4: 9, 5: 9, 6: 9, 7: 9}
    assert is_whole(town.topic)
    assert Counter(town.topic.leaders)[NEWCOMER] >= 2
