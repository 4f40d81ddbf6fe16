"""What is said to have changed between two looks."""

from __future__ import annotations

import pytest

from penstock.cli.top_tables import lines
from penstock.client.metadata import NO_NODE, PartitionView, TopicView
from penstock.client.node_metrics import Told, parse_metrics
from penstock.client.pulse.look import GroupMark, Look
from penstock.client.pulse.rates import pulse_of
from penstock.client.quorum import Registered

BROKERS = [Registered(1, "a", 9092, None, False), Registered(2, "b", 9092, None, True)]
SPEED = "kafka_server_brokertopicmetrics"


def told(at: float, count: int) -> Told:
    text = f"""
{SPEED}_bytesin_total {1000 * count}
{SPEED}_bytesin_total{{topic="orders"}} {1000 * count}
{SPEED}_bytesout_total {2000 * count}
{SPEED}_bytesout_total{{topic="orders"}} {2000 * count}
{SPEED}_messagesin_total {10 * count}
penstock_request_duration_seconds_count{{api="Produce"}} {100 * count}
penstock_request_duration_seconds_bucket{{api="Produce",le="0.001"}} {98 * count}
penstock_request_duration_seconds_bucket{{api="Produce",le="0.01"}} {99 * count}
penstock_request_duration_seconds_bucket{{api="Produce",le="0.1"}} {100 * count}
penstock_request_duration_seconds_bucket{{api="Produce",le="+Inf"}} {100 * count}
penstock_request_duration_seconds_bucket{{api="Fetch",le="+Inf"}} {100 * count}
penstock_loop_busy_seconds_total {count / 10}
penstock_connections 7
penstock_client_connections{{client_id="shop"}} 3
penstock_client_received_bytes{{client_id="shop"}} {500 * count}
penstock_client_sent_bytes{{client_id="shop"}} {100 * count}
penstock_client_connections{{client_id="bank"}} 1
penstock_client_received_bytes{{client_id="bank"}} 5
penstock_client_sent_bytes{{client_id="bank"}} 5
"""
    return Told(at, parse_metrics(text.splitlines()))


def partition(number: int, leader: int = 1) -> PartitionView:
    return PartitionView(number, leader, 0, (1, 2), (1,), ())


TOPICS = [
    TopicView("idle", b"", False, (partition(0, NO_NODE),)),
    TopicView("orders", b"", False, (partition(0), partition(1))),
    TopicView("__hidden", b"", True, (partition(0),)),
]
GROUPS = {"slow": GroupMark("Stable", 100, 500), "quick": GroupMark("Stable", 100, 0)}
BEFORE = Look(10.0, "id", 1, BROKERS, TOPICS, {1: told(10.0, 1)}, {"orders": 100, "idle": 3}, GROUPS)
AFTER = Look(
    12.0,
    "id",
    1,
    BROKERS,
    TOPICS,
    {1: told(12.0, 3)},
    {"orders": 140, "idle": 3},
    {"slow": GroupMark("Stable", 120, 900), "quick": GroupMark("Empty", 300, 0), "new": GroupMark("Stable", 1, 1)},
)


def test_counts_become_rates() -> None:
    pulse = pulse_of(BEFORE, AFTER)
    here, away = pulse.brokers
    assert here == (1, "a:9092", "up", 1000, 2000, 10, 100, 7, pytest.approx(0.1), 10)
    assert away == (2, "b:9092", "away", None, None, None, None, None, None, None)
    assert pulse.topics == [("orders", 2, 20, 1000, 2000), ("idle", 1, 0, 0, 0)]
    assert pulse.groups == [("slow", "Stable", 900, 200, 10), ("new", "Stable", 1, 0, 0), ("quick", "Empty", 0, 0, 100)]
    assert pulse.clients == [("shop", 3, 500, 100), ("bank", 1, 0, 0)]
    assert (pulse.partitions, pulse.leaderless, pulse.under_replicated) == (4, 1, 4)


def test_a_node_that_has_begun_anew_counts_from_nothing() -> None:
    pulse = pulse_of(BEFORE._replace(told={1: told(10.0, 9)}), AFTER)
    assert pulse.brokers[0].bytes_in == 1500


def test_who_tells_nothing_has_offsets_all_the_same() -> None:
    pulse = pulse_of(BEFORE._replace(told={}), AFTER._replace(told={}))
    assert pulse.topics[0] == ("orders", 2, 20, None, None)
    assert pulse.brokers[0].state == "up"
    assert pulse.clients == []


@pytest.mark.parametrize("width", [36, 40, 60, 80, 120])
def test_no_line_is_longer_than_there_is_room(width: int) -> None:
    long = pulse_of(BEFORE, AFTER)
    long = long._replace(topics=[long.topics[0]._replace(topic="a" * 249)])
    shown = lines(long, width, 10)
    assert max(map(len, shown)) <= width
    assert all(word in "\n".join(shown) for word in ("broker", "topic", "group", "client"))


def test_what_matters_most_stays_where_it_is_narrow() -> None:
    pulse = pulse_of(BEFORE, AFTER)
    narrow, wide = ("\n".join(lines(pulse, width, 10)) for width in (60, 120))
    assert "away" in narrow
    assert "requests/s" in wide
    assert "requests/s" not in narrow
    assert "2 brokers, 1 away · controller 1 · 4 partitions · 1 offline · 4 under-replicated" in wide
    assert len([line for line in lines(pulse, 120, 1) if line.startswith(("slow", "new", "quick"))]) == 1
