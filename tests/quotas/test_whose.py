"""Whose quota is whose, and how many are measured."""

from __future__ import annotations

import pytest

from penstock.core.base.quotas import PRODUCE, QuotaEntity
from penstock.core.quotas.entities import Sharing, find
from penstock.core.quotas.meters import METERS_MAX, Meters


def entity(user: str | None = "", client_id: str | None = "") -> QuotaEntity:
    """None stands for all others, nothing for any."""
    parts = (("client-id", client_id), ("user", user))
    return tuple((kind, name) for kind, name in parts if name != "")


# Kafka's order, with whom a quota is shared.
ORDER = (
    (entity("alice", "app"), Sharing("alice", "app")),
    (entity("alice", None), Sharing("alice", "app")),
    (entity("alice"), Sharing("alice", None)),
    (entity(None, "app"), Sharing("alice", "app")),
    (entity(None, None), Sharing("alice", "app")),
    (entity(None), Sharing("alice", None)),
    (entity(client_id="app"), Sharing(None, "app")),
    (entity(client_id=None), Sharing(None, "app")),
)


@pytest.mark.parametrize("at", range(len(ORDER)))
def test_the_most_special_quota_counts(at: int) -> None:
    limits = {key: 1.0 + place for place, (key, _) in enumerate(ORDER) if place >= at}
    assert find(limits, "alice", "app") == (ORDER[at][1], 1.0 + at)


def test_others_have_none() -> None:
    limits = {key: 1.0 for key, _ in ORDER if None not in dict(key).values()}
    assert find(limits, "bob", "web") is None


class Counted:
    def __init__(self, limit: float) -> None:
        self.limit = limit


def test_those_who_share_a_quota_are_measured_together() -> None:
    meters = Meters(Counted)
    assert not meters
    meters.update({entity("alice"): {PRODUCE: 5.0}, entity(None): {PRODUCE: 3.0}}, PRODUCE)
    assert meters
    assert meters.of("alice", "a") is meters.of("alice", "b")
    assert meters.of("bob", "a") is not meters.of("carol", "a")
    assert [each.limit for name in ("alice", "bob") if (each := meters.of(name, "a"))] == [5.0, 3.0]


def test_a_meter_outlasts_a_change_of_its_limit_but_not_its_end() -> None:
    meters = Meters(Counted)
    meters.update({entity("alice"): {PRODUCE: 5.0}}, PRODUCE)
    before = meters.of("alice", "a")
    meters.update({entity("alice"): {PRODUCE: 7.0}}, PRODUCE)
    after = meters.of("alice", "a")
    assert after is before
    assert after is not None
    assert after.limit == 7.0
    meters.update({entity("alice"): {"another": 7.0}}, PRODUCE)
    assert meters.of("alice", "a") is None


def test_a_client_with_many_names_takes_no_more_than_so_much() -> None:
    meters = Meters(Counted)
    meters.update({entity(client_id=None): {PRODUCE: 5.0}}, PRODUCE)
    for number in range(METERS_MAX + 10):
        meters.of("alice", f"client-{number}")
    assert len(meters._meters) == METERS_MAX
    assert len(meters._of_client) <= METERS_MAX
