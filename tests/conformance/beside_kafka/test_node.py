"""What a broker says of itself, and ids for producers."""

from typing import Any

import pytest

from tests.conformance.beside_kafka.side import Side, Sides

pytestmark = [pytest.mark.java, pytest.mark.slow]


WHILE_SUBSCRIBED = {71, 72}
"""Telemetry: Kafka offers it where a plugin takes it, ours where somebody has subscribed, as another test may have."""


@pytest.mark.parametrize("version", range(5))
def test_advertised_versions_are_within_kafkas(sides: Sides, version: int) -> None:
    def ranges(side: Side) -> dict[int, range]:
        rows = side.ask("ApiVersions", version, client_software_name="x", client_software_version="1")["api_keys"]
        return {row["api_key"]: range(row["min_version"], row["max_version"] + 1) for row in rows}

    kafka, ours = ranges(sides.kafka), ranges(sides.ours)
    assert set(ours) - set(kafka) <= WHILE_SUBSCRIBED
    assert {key: (kafka[key], each) for key, each in ours.items() if not set(each) <= set(kafka.get(key, each))} == {}


@pytest.mark.parametrize(("name", "number"), [("", "1"), ("x", ""), ("-x", "1"), ("x", "1 2"), ("a.b-c", "1.0")])
def test_odd_clients(sides: Sides, name: str, number: str) -> None:
    def error(side: Side) -> Any:
        answer = side.ask("ApiVersions", 4, client_software_name=name, client_software_version=number)
        return answer["error_code"], bool(answer["api_keys"])

    sides.agree(error)


@pytest.mark.parametrize("version", range(6))
def test_producer_ids(sides: Sides, version: int) -> None:
    for values in (
        {"transactional_id": None},
        {"transactional_id": ""},
        {"transactional_id": None, "producer_id": 5, "producer_epoch": -1},
        {"transactional_id": None, "producer_id": -1, "producer_epoch": 3},
        {"transactional_id": None, "transaction_timeout_ms": -1},
        {"transactional_id": None, "producer_id": 5, "producer_epoch": 3},
    ):
        sides.same("InitProducerId", version, **{"transaction_timeout_ms": 1000} | values)


@pytest.mark.parametrize("version", range(3))
def test_the_cluster(sides: Sides, version: int) -> None:
    for kind in (1, 2, 3):
        for operations in (False, True):
            sides.same(
                "DescribeCluster",
                version,
                endpoint_type=kind,
                include_cluster_authorized_operations=operations,
                include_fenced_brokers=True,
            )


@pytest.mark.parametrize("version", range(1, 6))
def test_log_folders(sides: Sides, version: int) -> None:
    topic = f"folders-{version}"
    sides.create(topic, 2)

    def work(side: Side, **values: Any) -> Any:
        answer = side.ask("DescribeLogDirs", version, **values)
        return [{**each, "total_bytes": 0, "usable_bytes": 0} for each in answer["results"]]

    sides.agree(lambda side: work(side, topics=[{"topic": topic, "partitions": [0, 1, 9]}]))
    sides.agree(lambda side: work(side, topics=[{"topic": "nowhere", "partitions": [0]}]))
    sides.agree(lambda side: work(side, topics=[]))


def test_producers_are_described(sides: Sides) -> None:
    sides.create("described-producers")
    rows = [
        {"name": "described-producers", "partition_indexes": [0, 5]},
        {"name": "nowhere", "partition_indexes": [0]},
        {"name": "not a name", "partition_indexes": [0]},
    ]
    sides.same("DescribeProducers", 0, topics=rows)
