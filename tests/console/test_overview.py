"""What needs attention, why, and what to do."""

from __future__ import annotations

import pytest

from penstock.client.health import Health
from penstock.client.metadata import TopicPartition
from penstock.services.console.looks import Disk, Look
from penstock.services.console.overview import concerns_of
from tests.console.world import PARTS, Site


def test_a_cluster_that_is_well(console: Site) -> None:
    seen = console.get("/")
    assert "Nothing needs attention" in seen.text
    assert "Brokers 1" in seen.text
    assert "html" not in console.get("/", headers=PARTS).tags


WELL = Health(1, (), (), (), (), (), (), (), (), (), ())
PLACE = (TopicPartition("t", 3),)


@pytest.mark.parametrize(
    ("found", "level", "what"),
    [
        (Look(WELL._replace(controller=None), (), None, (), ()), "bad", "there is no active controller"),
        (Look(WELL._replace(offline=PLACE), (), None, (), ()), "bad", "1 partition (t-3) cannot be read or written"),
        (Look(WELL._replace(under_min=PLACE), (), None, (), ()), "bad", "refuse writes"),
        (Look(WELL._replace(under_replicated=PLACE * 7), (), None, (), ()), "warn", "7 partitions (t-3, "),
        (Look(WELL._replace(fenced=(2,)), (), None, (), ()), "warn", "broker 2 is not let in"),
        (Look(WELL, (), None, (), (2, 3)), "warn", "each of the brokers 2, 3 does not answer"),
        (Look(WELL, (), None, (Disk(1, "d", 100, 10),), ()), "warn", "the disk of broker 1 is 90% full"),
        (Look(WELL, (), None, (Disk(1, "d", 100, 2),), ()), "bad", "98% full"),
    ],
)
def test_each_concern_says_why_and_what_to_do(found: Look, level: str, what: str) -> None:
    (concern,) = concerns_of(found)
    assert concern.level == level
    assert what in concern.what
    assert concern.why
    assert concern.todo


def test_a_broker_that_does_not_say_how_large_its_disk_is() -> None:
    assert list(concerns_of(Look(WELL, (), None, (Disk(1, "d", -1, -1),), ()))) == []
