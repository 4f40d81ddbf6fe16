"""What the settings of a cluster's life do: brokers and controllers joined by pipes, in virtual time."""

from __future__ import annotations

from penstock.core.node.registrar import State
from tests.node.controller.nodes import Nodes
from tests.node.controller.test_nodes import creation
from tests.node.controller.test_plans import alteration
from tests.node.controller.world import World, cluster
from tests.settings_act.trial import Trial

SETTLED_MS = 1_000
"""So long after the start everything has its rhythm."""


def _cluster(trial: Trial, **others: str) -> World:
    world = cluster(1, 2, 3, **others, **({} if trial.value is None else {trial.name: trial.value}))
    world.run(SETTLED_MS)
    return world


def heartbeats_in_a_minute(trial: Trial) -> int:
    """Of one broker, in hundreds."""
    world = _cluster(trial)
    beats = []
    speak = world.machines[2].registrar._heartbeat
    world.machines[2].registrar._heartbeat = lambda: beats.append(1) or speak()  # type: ignore[method-assign,func-returns-value]  # counts
    world.run(60_000)
    return round(len(beats), -2)


def is_fenced_after(trial: Trial, silent_ms: int) -> bool:
    world = _cluster(trial)
    world.pause(2, 60_000)
    world.run(silent_ms)
    return world.fenced() == [2]


def gives_up_after(trial: Trial, alone_ms: int) -> bool:
    world = World(**({} if trial.value is None else {trial.name: trial.value}))
    world.start(1)
    world.run(alone_ms)
    return world.machines[1].registrar.state is State.GONE


def hands_over(trial: Trial) -> bool:
    world = _cluster(trial)
    left: list[bool] = []
    world.machines[2].registrar.stop(left.append)
    world.run_until(lambda: bool(left), 10_000)
    return left[0]


def answer_without_a_controller(trial: Trial, waited_s: int) -> bool:
    """Whether a client that is patient has been answered after some time."""
    nodes = Nodes(**({} if trial.value is None else {trial.name: trial.value}))
    asked = nodes.other
    connection = nodes.connect(asked)
    for number, site in nodes.world.sites.items():
        if number != asked:
            site.crash(600_000_000)
    request = creation("t", replicas=1)
    request.timeout_ms = 600_000
    return nodes.is_answered(connection, request, waited_s)


def leader_after_a_while(trial: Trial, waited_ms: int, **others: str) -> int:
    """Of a partition whose first replica was away for a moment."""
    world = _cluster(trial, **others)
    world.create("t", [2, 3], min_insync_replicas="1")
    world.pause(2, 2_000)
    world.run_until(lambda: world.partition().leader == 3, 10_000)
    world.run_until(lambda: not world.fenced(), 10_000)
    world.ask(alteration(world, [3, 2]))
    world.run(waited_ms)
    return world.partition().leader


def leader_at_any_price(trial: Trial, waited_ms: int) -> int:
    """Of a partition whose only complete replica is gone, some time after that was allowed to be."""
    world = _cluster(trial)
    world.create("t", [2, 3], min_insync_replicas="1")
    world.ask(alteration(world, [2]))
    world.kill(2)
    world.run_until(lambda: world.fenced() == [2], 10_000)
    world.configure("t", unclean_leader_election_enable="true")
    world.run(waited_ms)
    return world.partition().leader
