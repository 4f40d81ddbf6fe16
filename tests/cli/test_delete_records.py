"""`penstock topic delete-records`: shows first, deletes when told so, and never more than was meant."""

import json
from typing import Any

import pytest

from tests.cli.running import KEPT, Shell


@pytest.fixture
def ten(penstock: Shell, request: pytest.FixtureRequest) -> str:
    """A topic of its own with two partitions, ten records in the first, a second apart, and three in the other."""
    topic = "".join(letter if letter.isalnum() else "-" for letter in request.node.name.removeprefix("test_"))
    assert penstock("topic", "create", topic, "--partitions", "2", *KEPT).code == 0
    for partition, count in ((0, 10), (1, 3)):
        lines = [json.dumps({"value": str(n), "timestamp": 1_700_000_000_000 + n * 1000}) for n in range(count)]
        given = "\n".join(lines).encode()
        assert penstock("produce", topic, "--input", "json", "--partition", str(partition), stdin=given).code == 0
    return topic


def first_offsets(penstock: Shell, topic: str) -> list[int]:
    described: dict[str, Any] = json.loads(penstock("topic", "describe", topic, "-o", "json").out)
    return [partition["first_offset"] for partition in described["partitions"]]


@pytest.mark.parametrize(
    ("place", "before", "expected"),
    [
        ("", "4", [4, 3]),
        (":0", "4", [4, 0]),
        (":1,0", "1", [1, 1]),
        ("", "latest", [10, 3]),
        ("", "-2", [8, 1]),
        ("", "@1700000002000", [2, 2]),
        ("", "2023-11-14T22:13:21+00:00", [1, 1]),
        ("", "1d", [10, 3]),
    ],
)
def test_records_go_only_when_told_so(penstock: Shell, ten: str, place: str, before: str, expected: list[int]) -> None:
    arguments = ("topic", "delete-records", ten + place, "--before", before, "--output", "json")
    dry = penstock(*arguments)
    assert dry.code == 0
    assert "--execute" in dry.err
    assert first_offsets(penstock, ten) == [0, 0]
    done = penstock(*arguments, "--execute")
    assert done.code == 0
    assert json.loads(done.out) == json.loads(dry.out)
    assert first_offsets(penstock, ten) == expected
    assert {row["partition"]: row["new_first_offset"] for row in json.loads(done.out)}.items() <= dict(
        enumerate(expected)
    ).items()


def test_what_is_gone_already_is_no_failure(penstock: Shell, ten: str) -> None:
    again = ("topic", "delete-records", ten, "--before", "2", "--execute")
    assert penstock(*again).code == 0
    second = penstock(*again)
    assert (second.code, second.err) == (0, "there is nothing to delete\n")


@pytest.mark.parametrize(
    ("place", "before", "code"),
    [("", "11", 1), (":2", "1", 2), (":x", "1", 2), (":", "1", 2), ("", "whenever", 2), ("-gone", "1", 1)],
)
def test_a_mistake_deletes_nothing(penstock: Shell, ten: str, place: str, before: str, code: int) -> None:
    refused = penstock("topic", "delete-records", ten + place, "--before", before, "--execute")
    assert refused.code == code
    assert refused.out == ""
    assert len(refused.err.splitlines()) == 2
    assert first_offsets(penstock, ten) == [0, 0]


def test_a_compacted_topic_keeps_its_beginning(penstock: Shell) -> None:
    penstock("topic", "create", "kept", "--config", "cleanup.policy=compact")
    penstock("produce", "kept", "--key", "k", stdin=b"v\n")
    refused = penstock("topic", "delete-records", "kept", "--before", "latest", "--execute")
    assert refused.code == 1
    assert "POLICY_VIOLATION" in refused.err
    assert "penstock config describe" in refused.err
