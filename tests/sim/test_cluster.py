"""Several machines in one world: who reaches whom while things are broken, and that all do when they are mended."""

from __future__ import annotations

import pytest

from penstock.sim.disk import DiskProfile
from penstock.sim.events import Down
from penstock.sim.network import NetworkProfile
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.storm import draw_storm, parse_storm, write_storm
from penstock.sim.weather import Weather
from penstock.sim.world import World
from tests.sim.gossip_node import INTERVAL_MS, TIMEOUT_MS, Diary, GossipNode, GossipNodes

MACHINES = 3
STORM_US = 60 * SECOND
FAULTS_MIN = 10
CALM_US = 20 * SECOND


class Cluster:
    """Gossiping nodes, and a storm over them."""

    def __init__(self, seed: int, storm: str = "", machines: int = MACHINES) -> None:
        self.world = World(
            seed, GossipNodes(machines), Diary, DiskProfile(), NetworkProfile(drips=0.05), machines=machines
        )
        self.weather = Weather(self.world, self.world.chance.fork("weather"))
        self.weather.schedule(parse_storm(storm))
        self.world.boot()

    def run(self, seconds: float) -> None:
        scheduler = self.world.scheduler
        scheduler.run_until(scheduler.now_us + round(seconds * SECOND))

    def node(self, number: int) -> GossipNode:
        node = self.world.sites[number].node
        assert isinstance(node, GossipNode)
        return node

    def silence_us(self, number: int, other: int) -> int:
        """For how long one has had no answer from another."""
        return self.world.scheduler.now_us - self.node(number).last_answer_us.get(other, 0)

    def reached(self, within_us: int = 3 * INTERVAL_MS * MS) -> set[tuple[int, int]]:
        """Who has had an answer from whom just now."""
        return {
            (one, other)
            for one in self.world.sites
            for other in self.world.sites
            if one != other and self.world.sites[one].node and self.silence_us(one, other) < within_us
        }


EVERYBODY = {(one, other) for one in range(1, MACHINES + 1) for other in range(1, MACHINES + 1) if one != other}


def without(*numbers: int) -> set[tuple[int, int]]:
    return {pair for pair in EVERYBODY if not set(pair) & set(numbers)}


def test_in_fair_weather_everybody_reaches_everybody() -> None:
    cluster = Cluster(1)
    cluster.run(10)
    assert cluster.reached() == EVERYBODY
    for number in cluster.world.sites:
        node = cluster.node(number)
        assert not node.failed
        assert all(90 <= count <= 101 for count in node.answered.values())
        assert {each.listener for each in node.connections} == {"CONTROLLER"}


@pytest.mark.parametrize("one_way", [False, True])
def test_a_cut_is_felt_by_its_two_machines_and_nobody_else(one_way: bool) -> None:
    sign = ">" if one_way else "-"
    cluster = Cluster(1, f"at 5 s cut 1{sign}2 for 10 s")
    cluster.run(12)
    # In one direction is enough: a question or its answer is lost.
    assert cluster.reached() == EVERYBODY - {(1, 2), (2, 1)}
    assert not cluster.node(1).refused
    assert cluster.node(1).failed[2] > 0
    cluster.run(8)
    assert cluster.reached() == EVERYBODY


def test_a_cut_in_one_direction_lets_the_other_through() -> None:
    cluster = Cluster(1, "at 5 s cut 1>2 for 900 ms")
    cluster.run(5)
    heard = cluster.node(1).heard["node-2"], cluster.node(2).heard["node-1"]
    cluster.run(0.8)
    now = cluster.node(1).heard["node-2"], cluster.node(2).heard["node-1"]
    assert now[0] > heard[0] + 4, "what the second asks still reaches the first"
    assert now[1] <= heard[1] + 1, "what the first asks does not reach the second"


def test_an_isolated_machine_reaches_nobody_and_nobody_it() -> None:
    cluster = Cluster(2, "at 5 s isolate 3 for 8 s")
    cluster.run(12)
    assert cluster.reached() == without(3)
    cluster.run(6)
    assert cluster.reached() == EVERYBODY
    assert not any(isinstance(event, Down) for event in cluster.world.witness.events)


def test_who_dials_a_dead_process_is_refused_and_who_dials_a_dead_machine_hears_nothing() -> None:
    crashed, unplugged = Cluster(3, "at 5 s crash 2 for 8 s"), Cluster(3, "at 5 s power-loss 2 for 8 s")
    for cluster in (crashed, unplugged):
        cluster.run(12)
        assert cluster.world.sites[2].node is None
        assert cluster.reached() == without(2)
    assert crashed.node(1).refused["node-2"] > 5
    assert not unplugged.node(1).refused
    for cluster in (crashed, unplugged):
        cluster.run(8)
        assert cluster.reached() == EVERYBODY


def test_a_crash_is_noticed_at_once_and_a_power_loss_by_waiting() -> None:
    crashed, unplugged = Cluster(4, "at 5 s crash 2 for 8 s"), Cluster(4, "at 5 s power-loss 2 for 8 s")
    for cluster in (crashed, unplugged):
        cluster.run(5.5)
    assert crashed.node(1).failed[2] > 0
    assert unplugged.node(1).failed[2] == 0


def test_a_paused_process_answers_late_and_does_not_die() -> None:
    cluster = Cluster(5, "at 5 s pause 2 for 700 ms")
    cluster.run(5)
    paused, turns = cluster.node(2), cluster.node(2).turns
    cluster.run(0.6)
    assert paused.turns == turns
    assert cluster.silence_us(1, 2) > 500 * MS
    cluster.run(5)
    assert cluster.node(2) is paused
    assert cluster.node(1).failed[2] == 0, "it came back before anybody lost patience"
    assert cluster.reached() == EVERYBODY


def test_a_process_that_is_paused_for_long_is_given_up_and_found_again() -> None:
    cluster = Cluster(6, "at 5 s pause 2 for 6 s")
    cluster.run(10)
    assert cluster.reached() == without(2)
    assert cluster.node(1).failed[2] > 0
    assert not cluster.node(1).refused, "somebody listens, even if nobody answers"
    cluster.run(6)
    assert cluster.reached() == EVERYBODY


def test_who_dials_a_paused_process_learns_of_its_death() -> None:
    cluster = Cluster(7, "at 5 s pause 2 for 6 s\nat 9 s crash 2 for 5 s")
    cluster.run(10)
    assert cluster.node(1).refused["node-2"] > 0
    cluster.run(10)
    assert cluster.reached() == EVERYBODY


def test_slow_is_slow() -> None:
    cluster = Cluster(8, "at 0 s slow 1-2 by 200 ms for 60 s")
    cluster.run(10)
    waits = {other: cluster.node(1).answered[other] for other in (2, 3)}
    assert waits[2] < waits[3]
    assert cluster.silence_us(1, 3) <= cluster.silence_us(1, 2) + INTERVAL_MS * MS


def test_half_open_tells_only_the_first() -> None:
    cluster = Cluster(9, "at 5 s half-open 1>2")
    cluster.run(5.1)
    failed = cluster.node(1).failed[2], cluster.node(2).failed[1]
    ended = [each for each in cluster.node(1).connections if each.was_closed]
    assert bool(failed[0]) != bool(ended), "as the one who dialled, or as the one who was dialled"
    assert failed[1] == 0
    cluster.run(TIMEOUT_MS / 1000 + 2)
    assert cluster.reached() == EVERYBODY


def test_a_reset_costs_one_connection() -> None:
    cluster = Cluster(10, "at 5 s reset 1-2 by 1000 bytes")
    cluster.run(10)
    lost = cluster.node(1).failed[2] + cluster.node(2).failed[1]
    assert 1 <= lost <= 3
    assert not cluster.node(3).failed
    assert cluster.reached() == EVERYBODY


def test_a_wrong_clock_hurts_nobody() -> None:
    cluster = Cluster(11, "at 2 s skew 2 by -600000 ms for 4 s\nat 3 s skew 3 by 600000 ms for 4 s")
    for _ in range(10):
        cluster.run(1)
        assert cluster.reached() == EVERYBODY
    assert not any(cluster.node(number).failed for number in cluster.world.sites)


def test_a_process_that_stops_in_good_order_is_started_again() -> None:
    cluster = Cluster(12, "at 5 s restart 2")
    cluster.run(10)
    assert [event.clean for event in cluster.world.witness.events if isinstance(event, Down)] == [True]
    assert cluster.reached() == EVERYBODY


def weather_over(seed: int, machines: int) -> Cluster:
    """A drawn storm, to its end and past it."""
    cluster = Cluster(seed, machines=machines)
    storm = draw_storm(cluster.world.chance.fork("storm"), machines, STORM_US, FAULTS_MIN)
    assert parse_storm(write_storm(storm)) == storm
    cluster.weather.schedule(storm)
    cluster.run(STORM_US // SECOND)
    cluster.weather.end()
    cluster.run(CALM_US // SECOND)
    return cluster


@pytest.mark.parametrize("seed", range(2))
def test_after_a_storm_everybody_reaches_everybody_again(seed: int) -> None:
    check_calm_after(seed, 3)


@pytest.mark.slow
@pytest.mark.parametrize("machines", [3, 5])
def test_after_many_storms_everybody_reaches_everybody_again(machines: int) -> None:
    for seed in range(10, 20):
        check_calm_after(seed, machines)


def check_calm_after(seed: int, machines: int) -> None:
    cluster = weather_over(seed, machines)
    assert len(cluster.reached()) == machines * (machines - 1)
    for number in cluster.world.sites:
        node = cluster.node(number)
        assert len(node.open) <= machines, "every question has ended, but for the last ones"
    assert sum(count for what, count in cluster.world.trace.counts.items() if what.startswith("fault-")) >= FAULTS_MIN


@pytest.mark.slow
def test_a_storm_is_a_fact_of_its_seed() -> None:
    first, second, other = (weather_over(seed, 3).world for seed in (3, 3, 4))
    assert first.trace.digest == second.trace.digest
    assert first.scheduler.events_run == second.scheduler.events_run
    assert other.trace.digest != first.trace.digest
