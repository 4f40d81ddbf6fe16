"""Voters come and go while machines crash, lose power and are cut off; in the end all agree, and decide again."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Request
from penstock.sim.chance import Chance
from penstock.sim.clients.client import Connection
from penstock.sim.disk import DiskProfile
from penstock.sim.dynamic import DynamicNodes, seating, unseating
from penstock.sim.machine import BROKER_PORT
from penstock.sim.network import NetworkProfile
from penstock.sim.scheduler import SECOND
from penstock.sim.storm import draw_storm
from penstock.sim.weather import Weather
from penstock.sim.world import World
from tests.node.towns import JOINING, Nobody, Port, Town

SEEDS = range(3)
STORM_US = 60 * SECOND
FAULTS_MIN = 10
CHANGES = 30
PAUSE_US = 2 * SECOND
PATIENCE_US = 3 * SECOND
CALM_S = 90
ENDS_FOR_GOOD = frozenset({"failed-sync"})


class Story(Town):
    """A seed: so many machines, of which some found the cluster, and a storm."""

    def __init__(self, seed: int) -> None:
        self._chance = Chance(seed).fork("story")
        self._machines = self._chance.pick((3, 4, 5))
        self._joins = self._chance.happens(0.5)
        kind = DynamicNodes(self._machines, self._chance.pick((1, 1, 2, 3)), JOINING if self._joins else {})
        super().__init__(self._machines, kind)
        network = NetworkProfile(drips=0.02)
        self.world = World(seed, kind, Nobody, DiskProfile(), network, machines=self._machines)
        storm = draw_storm(self._chance.fork("storm"), self._machines, STORM_US, FAULTS_MIN)
        weather = Weather(self.world, self.world.chance.fork("weather"))
        weather.schedule([fault for fault in storm if fault.kind not in ENDS_FOR_GOOD])
        self._leaders: dict[int, int] = {}
        self.changed = 0

    def play(self) -> None:
        self.world.boot()
        for _ in range(CHANGES):
            self.pass_time(PAUSE_US / SECOND)
            self._look()
            self._change()
        self.wait(lambda: all(map(self.is_running, self.world.sites)) and self.has_leader(), CALM_S)
        self.wait(self._agree, CALM_S)
        code = self.create(self._chance.between(1, self._machines), "after", 3)
        # A broker whose line to the controller breaks asks again, as in Kafka: the first request may have been heard.
        assert code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        self._look()

    def _look(self) -> None:
        """One leader for each epoch."""
        for number in filter(self.is_running, self.world.sites):
            quorum = self.node(number).quorum
            if quorum.leads:
                assert self._leaders.setdefault(quorum.epoch, number) == number

    def _change(self) -> None:
        """Somebody asks some machine to add a voter or to remove one, and does not insist."""
        running = [number for number in self.world.sites if self.is_running(number)]
        if not running:
            return
        asked, whom = self._chance.pick(running), self._chance.between(1, self._machines)
        voters = self.voters(asked)
        goes = whom in voters and len(voters) > 1 and self._chance.happens(0.3 if self._joins else 0.5)
        answer = self._try(asked, unseating(whom) if goes else seating(whom))
        self.changed += answer is not None and answer.error_code == ErrorCode.NONE

    def _try(self, number: int, request: Request) -> Any:
        scheduler, answers = self.world.scheduler, list[Any]()
        connection = Connection("asking", Port(self.world, BROKER_PORT), number)
        if not scheduler.run_while(lambda: not connection.ready.resolved, scheduler.now_us + PATIENCE_US):
            return None
        if connection.closed:
            return None
        connection.ask(request, response_class(request.KEY)).begin(scheduler, answers.append)
        scheduler.run_while(lambda: not answers, scheduler.now_us + PATIENCE_US)
        return answers[0] if answers and not isinstance(answers[0], Exception) else None

    def _agree(self) -> bool:
        """Everybody runs, knows the same voters and the same leader, and serves."""
        if not (all(map(self.is_running, self.world.sites)) and self.has_leader()):
            return False
        nodes, leader = [self.node(number) for number in self.world.sites], self.leader
        brokers = self.node(leader).image.brokers
        return (
            len({node.quorum.voter_ids for node in nodes}) == 1
            and {node.quorum.leader_id for node in nodes} == {leader}
            and len(brokers) == self._machines
            and not any(broker.fenced for broker in brokers.values())
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_voters_change_in_storms(seed: int) -> None:
    story = Story(seed)
    story.play()
    assert story.changed
