"""What the bench of rebalances takes for an assignment, and for a request."""

from __future__ import annotations

import pytest

from bench.members import UNNAMED, is_shared, requests_in


@pytest.mark.parametrize(
    ("held", "shared"),
    [
        ([{0, 1}, {2, 3}], True),
        ([{0, 1}, {3}], False),
        ([{0, 1}, {1, 2, 3}], False),
        ([{0, 1, 2}, {2}], False),
        ([{0, 1, 2, 3}, set()], False),
    ],
    ids=["shared", "one left out", "one held twice", "one twice in place of another", "a member without"],
)
def test_an_assignment_is_complete_disjoint_and_leaves_nobody_out(held: list[set[int]], shared: bool) -> None:
    assert is_shared(held, 4) is shared


def test_the_requests_of_all_connections_are_counted() -> None:
    statistics = """{"name": "rdkafka#consumer-1", "brokers":{
        "127.0.0.1:9092/1": {"tx": 4, "req": {"Fetch": 3, "Heartbeat": 0, "Metadata": 1}, "toppars": {}},
        "GroupCoordinator": {"tx": 9, "req": {"JoinGroup": 2, "Metadata": 2}}}, "topics": {}, "tx": 13}"""
    assert requests_in(statistics) == {"Fetch": 3, "Metadata": 3, "JoinGroup": 2, UNNAMED: 5}
