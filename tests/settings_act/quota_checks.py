"""What to look at of a node whose clients have quotas."""

from __future__ import annotations

from penstock.core.base.quotas import MUTATION, PRODUCE
from tests.node.test_client_quotas import change, set_quota, throttle_ms
from tests.node.world import produce
from tests.settings_act.trial import Trial

CONNECTIONS = 30
SECOND = bytes(1000)
"""Nearly what its client may produce in a second."""


def seconds_at_once(trial: Trial) -> int:
    """How many seconds' worth a client may produce before it rests."""
    world = trial.begin(topic={})
    set_quota(world, PRODUCE, 1200.0, client_id="test")
    client = world.client()
    seconds = 0
    while not throttle_ms(client, produce("t", SECOND), 9):
        seconds += 1
    return seconds


def seconds_of_changes_at_once(trial: Trial) -> int:
    """How many seconds' worth a client may change before it is refused."""
    world = trial.begin()
    set_quota(world, MUTATION, 1.0, client_id="test")
    client = world.client()
    topics = 0
    while not change(client, f"topic-{topics}", 1, 7)[0]:
        topics += 1
    return topics - 1


def connections_at_once(trial: Trial) -> int:
    world = trial.begin()
    world.jump(60_000)
    return sum(world.node.connect("10.0.0.1", port) is not None for port in range(CONNECTIONS))
