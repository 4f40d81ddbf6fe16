"""Topics: creating, describing, growing, deleting, and every way to ask for something impossible."""

from typing import Any

import pytest

from tests.conformance.beside_kafka.side import FIXED_HERE, IdOf, Side, Sides

pytestmark = [pytest.mark.java, pytest.mark.slow]

UNKNOWN_ID = bytes(range(16))
TIMEOUT_MS = 10_000


def topic(name: str, partitions: int = 1, copies: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": copies, **more}


def assigned(name: str, *brokers: list[int], **more: Any) -> dict[str, Any]:
    rows = [{"partition_index": index, "broker_ids": each} for index, each in enumerate(brokers)]
    return topic(name, -1, -1, assignments=rows) | more


def config(key: str, value: str | None) -> dict[str, Any]:
    return {"configs": [{"name": key, "value": value}]}


def gap(name: str) -> dict[str, Any]:
    return topic(name, -1, -1, assignments=[{"partition_index": 1, "broker_ids": [1]}])


REFUSED = [
    topic(""),
    topic("."),
    topic(".."),
    topic("a b"),
    topic("a/b"),
    topic("x" * 250),
    topic("__cluster_metadata"),
    topic("none", 0),
    topic("negative", -2),
    topic("no-copies", 1, 0),
    topic("negative-copies", 1, -2),
    topic("copies", 1, 2),
    topic("too-many", 20_000),
    topic("key") | config("no.such.key", "1"),
    topic("value") | config("retention.ms", "soon"),
    topic("low") | config("segment.bytes", "1"),
    topic("null") | config("retention.ms", None),
    topic("policy") | config("cleanup.policy", "sometimes"),
    assigned("unknown-broker", [7]),
    assigned("twice", [1, 1]),
    assigned("uneven", [1], []),
    assigned("both", [1], num_partitions=1),
    assigned("both-copies", [1], replication_factor=1),
    gap("gap"),
]


@pytest.mark.parametrize("wanted", REFUSED, ids=lambda wanted: wanted["name"][:20] or "empty")
@pytest.mark.parametrize("validate_only", [False, True])
def test_what_cannot_be_created(sides: Sides, wanted: dict[str, Any], validate_only: bool) -> None:
    answer = sides.same("CreateTopics", 7, topics=[wanted], timeout_ms=TIMEOUT_MS, validate_only=validate_only)
    assert answer["topics"][0]["error_code"] != 0


@pytest.mark.parametrize("version", range(2, 8))
def test_creation_in_every_version(sides: Sides, version: int) -> None:
    name = f"created-{version}"
    both = [topic(name, 2) | config("retention.ms", "1234"), topic(f"{name}-default", -1, -1)]
    wanted = both if version >= 4 else both[:1]

    def create(side: Side) -> Any:
        answer = side.ask("CreateTopics", version, topics=wanted, timeout_ms=TIMEOUT_MS)
        topics = [each | {"topic_id": "", "configs": settings(each)} for each in answer["topics"]]
        return sorted(topics, key=lambda each: str(each["name"]))

    sides.agree(create)
    again = sides.same("CreateTopics", version, topics=wanted[:1], timeout_ms=TIMEOUT_MS)
    assert again["topics"][0]["error_code"] != 0


def settings(created: dict[str, Any]) -> list[Any]:
    """Kafka writes one setting into its metadata when a node is formatted, so its source is another. Ours alone are
    left out, and what is refused here cannot be changed."""
    differing = {"min.insync.replicas": {"config_source": ""}} | {key: {"read_only": ""} for key in FIXED_HERE}
    return [
        each | differing.get(each["name"], {})
        for each in created["configs"]
        if not each["name"].startswith("penstock.")
    ]


def test_two_of_the_same_name(sides: Sides) -> None:
    sides.same("CreateTopics", 7, topics=[topic("double"), topic("double")], timeout_ms=TIMEOUT_MS)


def test_the_name_of_the_metadata_log(sides: Sides) -> None:
    name = "__cluster_metadata"
    sides.same("CreateTopics", 7, topics=[topic(name), topic(name)], timeout_ms=TIMEOUT_MS)
    for _ in range(2):
        sides.same("Metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=True)
    sides.same("DeleteTopics", 6, topics=[{"name": name, "topic_id": bytes(16)}], timeout_ms=TIMEOUT_MS)
    sides.same("CreatePartitions", 3, topics=[{"name": name, "count": 2, "assignments": None}], timeout_ms=TIMEOUT_MS)
    sides.same("DescribeConfigs", 4, resources=[{"resource_type": 2, "resource_name": name}])


def test_names_that_collide(sides: Sides) -> None:
    sides.create("col.lide")
    sides.same("CreateTopics", 7, topics=[topic("col_lide")], timeout_ms=TIMEOUT_MS)


def test_only_checking(sides: Sides) -> None:
    def check(side: Side) -> Any:
        answer = side.ask("CreateTopics", 7, topics=[topic("only-checked")], timeout_ms=1000, validate_only=True)
        return [each | {"configs": settings(each), "topic_id": ""} for each in answer["topics"]]

    sides.agree(check)
    sides.same("Metadata", 12, topics=[{"name": "only-checked"}], allow_auto_topic_creation=False)


@pytest.mark.parametrize("version", range(14))
def test_metadata_in_every_version(sides: Sides, version: int) -> None:
    name = f"described-{version}"
    sides.create(name, 3)
    # Before version 4 there was no way to ask without creating; who creates at once has another first answer.
    for wanted in (name, "no-such-topic", "not a name") if version >= 4 else (name, "not a name"):
        sides.same("Metadata", version, topics=[{"name": wanted}], allow_auto_topic_creation=False)


@pytest.mark.parametrize("version", [10, 11, 12, 13])
def test_metadata_by_id(sides: Sides, version: int) -> None:
    name = f"by-id-{version}"
    sides.create(name)
    sides.same("Metadata", version, topics=[{"topic_id": IdOf(name), "name": None}])
    sides.same("Metadata", version, topics=[{"topic_id": UNKNOWN_ID, "name": None}])
    sides.same("Metadata", version, topics=[])


@pytest.mark.parametrize("operations", [False, True])
def test_metadata_with_operations(sides: Sides, operations: bool) -> None:
    sides.create(f"operations-{operations}")
    sides.same(
        "Metadata",
        10,
        topics=[{"name": f"operations-{operations}"}, {"name": "no-such-topic"}],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=operations,
        include_cluster_authorized_operations=operations,
    )


@pytest.mark.parametrize("version", range(1, 7))
def test_deletion_in_every_version(sides: Sides, version: int) -> None:
    name = f"deleted-{version}"
    sides.create(name)
    for wanted in (name, name, "not a name"):
        sides.same("DeleteTopics", version, topics=[{"name": wanted}], topic_names=[wanted], timeout_ms=TIMEOUT_MS)


def test_deletion_by_id(sides: Sides) -> None:
    sides.create("deleted-by-id")
    for wanted in (IdOf("deleted-by-id"), IdOf("deleted-by-id"), UNKNOWN_ID):
        sides.same("DeleteTopics", 6, topics=[{"name": None, "topic_id": wanted}], timeout_ms=TIMEOUT_MS)
    sides.create("deleted-by-both")
    sides.same(
        "DeleteTopics", 6, topics=[{"name": "deleted-by-both", "topic_id": IdOf("deleted-by-both")}], timeout_ms=1000
    )
    twice = [{"name": "deleted-by-both"}, {"name": "deleted-by-both"}]
    sides.same("DeleteTopics", 6, topics=twice, timeout_ms=TIMEOUT_MS)
    sides.same("DeleteTopics", 6, topics=[{"name": None}], timeout_ms=TIMEOUT_MS)


@pytest.mark.parametrize("version", range(4))
def test_partitions(sides: Sides, version: int) -> None:
    name = f"grown-{version}"
    sides.create(name, 2)
    for count, assignments in (
        (1, None),
        (2, None),
        (0, None),
        (-1, None),
        (3, []),
        (3, [{"broker_ids": [7]}]),
        (3, [{"broker_ids": [1, 1]}]),
        (3, [{"broker_ids": []}]),
        (4, [{"broker_ids": [1]}]),
        (3, [{"broker_ids": [1]}]),
        (5, None),
    ):
        wanted = {"name": name, "count": count, "assignments": assignments}
        sides.same("CreatePartitions", version, topics=[wanted], timeout_ms=TIMEOUT_MS)
    for wanted in ("no-such-topic", "not a name", ""):
        row = {"name": wanted, "count": 3, "assignments": None}
        sides.same("CreatePartitions", version, topics=[row], timeout_ms=TIMEOUT_MS)
    row = {"name": name, "count": 9, "assignments": None}
    sides.same("CreatePartitions", version, topics=[row, row], timeout_ms=TIMEOUT_MS)
    sides.same("CreatePartitions", version, topics=[row], timeout_ms=TIMEOUT_MS, validate_only=True)
    sides.same("Metadata", 12, topics=[{"name": name}])


def test_partitions_are_described_in_pages(sides: Sides) -> None:
    for name in ("paged-a", "paged-b"):
        sides.create(name, 3)
    names = [{"name": name} for name in ("paged-a", "paged-b", "no-such-topic", "not a name")]
    for limit in (-1, 0, 1, 2, 4, 2000):
        sides.same("DescribeTopicPartitions", 0, topics=names, response_partition_limit=limit)
    for place in (("paged-a", 1), ("paged-b", 0), ("paged-b", 9), ("zzz", 0)):
        cursor = {"topic_name": place[0], "partition_index": place[1]}
        sides.same("DescribeTopicPartitions", 0, topics=names, cursor=cursor, response_partition_limit=2)
