"""What a node tells of itself, in both formats, and that it is what the page on metrics promises."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as plain_families

from penstock.core.base.histogram import Histogram
from penstock.core.base.steps import at_once
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest
from penstock.shell.exposition.families import buckets, labels
from penstock.shell.exposition.process import WINDOW_US, IdleShare
from penstock.shell.exposition.rendering import Exposition
from penstock.shell.exposition.topics import TOPICS_MAX
from tests.node import sharing
from tests.node.test_coordinators import commit
from tests.node.world import World, fetch, produce

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility" / "metrics.md"
PROMISED = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| (small|full)", PAGE.read_text(), re.MULTILINE))


def busy() -> World:
    world = World()
    world.create("t", 2)
    client = world.client()
    client.ask(produce("t", b"a", b"b", b"c"), 9)
    client.ask(fetch({("t", 0): 0}), 11)
    client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"]), 4)
    client.ask(commit("readers", 1), 8)
    return world


def told(world: World, *, is_full: bool = False, is_open: bool = False) -> str:
    exposition = Exposition(world.node, lambda: {"SSL": 1_900_000_000})
    # Who asks for the first time has groups looked at.
    world.turn(lambda: at_once(exposition.render()))
    world.settle()
    return b"".join(at_once(exposition.render(is_full=is_full, is_open=is_open))).decode()


def samples(families: Iterable[Metric]) -> dict[str, float]:
    return {
        each.name + (labels(**each.labels) if each.labels else ""): each.value
        for family in families
        for each in family.samples
    }


def test_the_page_names_what_a_node_tells() -> None:
    world = busy()
    for is_full in (False, True):
        found = {name.partition("{")[0] for name in samples(plain_families(told(world, is_full=is_full)))}
        wanted = {name for name, where in PROMISED.items() if is_full or where == "small"}
        assert wanted - found == set()
        if not is_full:
            assert found & {name for name, where in PROMISED.items() if where == "full"} == set()


def test_both_formats_say_the_same() -> None:
    world = busy()
    plain = samples(plain_families(told(world, is_full=True)))
    opened = samples(open_families(told(world, is_full=True, is_open=True)))
    assert plain.keys() == opened.keys()
    assert len(plain) > 200


def test_producers_and_consumers_are_counted_by_topic_and_in_all() -> None:
    found = samples(plain_families(told(busy())))
    prefix = "kafka_server_brokertopicmetrics"
    for labelled in ("", '{topic="t"}'):
        assert found[f"{prefix}_messagesin_total{labelled}"] == 3
        assert found[f"{prefix}_totalproducerequests_total{labelled}"] == 1
        assert found[f"{prefix}_bytesout_total{labelled}"] == found[f"{prefix}_bytesin_total{labelled}"] > 0
    assert found["penstock_produce_batch_bytes_count"] == 1


def test_what_is_counted_in_all_outlives_its_topic() -> None:
    world = busy()
    before = samples(plain_families(told(world)))
    world.client().ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000))
    after = samples(plain_families(told(world)))
    name = "kafka_server_brokertopicmetrics_bytesin_total"
    assert after[name] == before[name] > 0
    assert f'{name}{{topic="t"}}' not in after


def test_records_of_share_groups_are_counted() -> None:
    world = sharing.begun(share_record_lock_duration_ms="1000")
    sharing.publish(world, *[b"x"] * 5)
    member = sharing.Member(world)
    member.take(0)
    member.code((0, 1, [sharing.ACCEPT]), (2, 3, [sharing.RELEASE, sharing.REJECT]))
    world.pass_time(1000)
    text = told(world)
    for line in (
        "penstock_share_sessions 1",
        "penstock_share_partitions 1",
        "penstock_share_records_in_flight 3",
        "penstock_share_records_acquired_total 5",
        "penstock_share_locks_expired_total 1",
        "penstock_share_dead_letters_total 0",
        'penstock_share_records_acknowledged_total{type="accept"} 2',
        'penstock_share_records_acknowledged_total{type="release"} 1',
        'penstock_share_records_acknowledged_total{type="reject"} 1',
    ):
        assert f"{line}\n" in text, line


def test_requests_are_timed_by_phase() -> None:
    found = samples(plain_families(told(busy())))
    assert found['penstock_request_phase_seconds_count{api="Produce",phase="local"}'] == 1


def test_labels_may_hold_anything() -> None:
    assert labels(name='a"b\\c\nd') == '{name="a\\"b\\\\c\\nd"}'


def test_a_histogram_counts_up_to_each_bound() -> None:
    histogram = Histogram((10, 100))
    for value in (1, 10, 50, 1_000):
        histogram.observe(value)
    assert dict(buckets(histogram, 10, api="x")) == {
        '_bucket{api="x",le="1.0"}': 2,
        '_bucket{api="x",le="10.0"}': 3,
        '_bucket{api="x",le="+Inf"}': 4,
        '_sum{api="x"}': 106.1,
        '_count{api="x"}': 4,
    }


def test_many_topics_are_told_of_up_to_a_bound() -> None:
    world = busy()
    traffic = world.node.replicas.traffic
    for number in range(TOPICS_MAX + 50):
        traffic[f"other-{number}"] = type(traffic["t"])(world.node.replicas.intake)
    text = told(world)
    assert text.count("kafka_server_brokertopicmetrics_bytesin_total{") == TOPICS_MAX
    assert 'kafka_server_brokertopicmetrics_bytesin_total{topic="t"}' in text, "the busiest are told of"
    assert f"\npenstock_topics_left_out {len(traffic) - TOPICS_MAX}\n" in text


def test_the_idle_share_is_of_the_last_minute() -> None:
    idle = IdleShare()
    assert idle.at(1, 0) == 1.0
    assert idle.at(1 + WINDOW_US // 2, WINDOW_US // 4) == pytest.approx(0.5)
    for at in range(3, 10):
        share = idle.at(1 + at * WINDOW_US // 2, WINDOW_US // 4)
    assert share == 1.0, "it was busy long ago"
