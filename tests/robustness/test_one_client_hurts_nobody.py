"""Hostile clients against real nodes: a good one goes on all the while, and the nodes' memory stays where it was."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest

from penstock.testing import Broker
from tests.chaos.cluster import on_loopback
from tests.robustness import hostile
from tests.robustness.hostile.target import Case, Target
from tests.robustness.process import resident_kb, resident_kb_max, start_resident_kb_max
from tests.robustness.three_nodes import SETTINGS, ThreeNodes
from tests.robustness.timed_client import TimedClient

STALL_MS_MAX = 500
GROWTH_KB_MAX = 200_000
TOPIC = "good"


def cases(kind: str) -> dict[str, Case]:
    return {
        name: case
        for module in pkgutil.iter_modules(hostile.__path__, hostile.__name__ + ".")
        for name, case in getattr(import_module(module.name), kind, {}).items()
    }


CASES, LONG_CASES, QUORUM_CASES = cases("CASES"), cases("LONG_CASES"), cases("QUORUM_CASES")


@pytest.fixture(scope="module", params=["alone", pytest.param("of three", marks=pytest.mark.soak)])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    if request.param == "alone":
        with Broker(beside=True) as broker:
            yield prepared(Target(broker))
    else:
        with on_loopback(3, SETTINGS) as cluster:
            yield prepared(Target(ThreeNodes(cluster)))


def prepared(target: Target) -> Target:
    target.broker.create_topic(TOPIC)
    target.have_groups()
    return target


@pytest.fixture(scope="module")
def good(target: Target) -> Iterator[TimedClient]:
    client = TimedClient(target.broker.host, target.broker.port, TOPIC, *target.pids)
    client.longest_ms()
    yield client
    client.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_hostile_client(name: str, target: Target, good: TimedClient) -> None:
    check(name, CASES[name], target, good)


@pytest.mark.soak
@pytest.mark.parametrize("name", LONG_CASES)
def test_a_hostile_client_for_longer(name: str, target: Target, good: TimedClient) -> None:
    check(name, LONG_CASES[name], target, good)


@pytest.mark.soak
@pytest.mark.parametrize("name", QUORUM_CASES)
def test_a_hostile_voter(name: str, target: Target, good: TimedClient) -> None:
    if target.controllers:
        check(name, QUORUM_CASES[name], target, good)


def check(name: str, case: Case, target: Target, good: TimedClient) -> None:
    before_kb = [resident_kb(pid) for pid in target.pids]
    for pid in target.pids:
        start_resident_kb_max(pid)
    good.longest_ms()
    case(target)
    longest_ms = good.longest_ms()
    growth_kb = max(resident_kb_max(pid) - before for pid, before in zip(target.pids, before_kb, strict=True))
    print(f"{name}: {longest_ms:.0f} ms, {growth_kb / 1000:.0f} MB")
    assert longest_ms < STALL_MS_MAX
    assert growth_kb < GROWTH_KB_MAX
