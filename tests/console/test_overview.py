"""What needs attention, and a broker that goes away and comes back."""

from __future__ import annotations

import pytest

from penstock.testing.broker import Broker
from tests.console.world import PARTS, Site, site
from tests.waiting import wait_until


def test_a_cluster_that_is_well(console: Site) -> None:
    seen = console.get("/")
    assert "Nothing needs attention" in seen.text
    assert "Brokers 1" in seen.text
    assert "html" not in console.get("/", headers=PARTS).tags


@pytest.mark.slow
def test_a_broker_that_dies_and_comes_back() -> None:
    with Broker() as broker, site(broker.bootstrap) as console:
        assert console.get("/").status == 200
        broker.stop()
        away = console.get("/topics/x")
        assert away.status == 503
        assert "no broker answers" in away.text
        assert 'id="come-back"' in away.html
        wait_until(lambda: console.get("/").status == 503, what="what is remembered is old")
        assert "no broker answers" in console.get("/", headers=PARTS).text
        broker.start()
        wait_until(lambda: console.get("/").status == 200, what="the page is back")
