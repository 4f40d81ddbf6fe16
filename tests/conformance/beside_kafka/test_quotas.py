"""Client quotas: who may be given which, and who is found by which filter."""

from typing import Any

import pytest

from tests.conformance.beside_kafka.side import Side, Sides

pytestmark = [pytest.mark.java, pytest.mark.slow]

ALICE, EVERYBODY = {"entity_type": "user", "entity_name": "alice"}, {"entity_type": "user", "entity_name": None}
APP, ANY_APP = {"entity_type": "client-id", "entity_name": "app"}, {"entity_type": "client-id", "entity_name": None}
HERE, ANYWHERE = {"entity_type": "ip", "entity_name": "127.0.0.9"}, {"entity_type": "ip", "entity_name": None}
RATE, SHARE = {"key": "producer_byte_rate", "value": 1000.0}, {"key": "request_percentage", "value": 12.5}
MUTATIONS, CONNECTIONS = (
    {"key": "controller_mutation_rate", "value": 0.5},
    {"key": "connection_creation_rate", "value": 7.0},
)

GIVEN: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = [
    ([ALICE], [RATE, SHARE]),
    ([ALICE, APP], [RATE]),
    ([ALICE, ANY_APP], [RATE]),
    ([EVERYBODY], [SHARE]),
    ([EVERYBODY, APP], [MUTATIONS]),
    ([EVERYBODY, ANY_APP], [RATE]),
    ([APP], [RATE]),
    ([ANY_APP], [RATE, MUTATIONS]),
    ([HERE], [CONNECTIONS]),
    ([ANYWHERE], [CONNECTIONS]),
]
REFUSED: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]] = [
    ([], [RATE]),
    ([ALICE, HERE], [CONNECTIONS]),
    ([HERE], [RATE]),
    ([ALICE], [CONNECTIONS]),
    ([{"entity_type": "rack", "entity_name": "a"}], [RATE]),
    ([{"entity_type": "user", "entity_name": ""}], [RATE]),
    ([{"entity_type": "ip", "entity_name": "300.1.1.1"}], [CONNECTIONS]),
    ([ALICE], [RATE | {"value": 0.0}]),
    ([ALICE], [RATE | {"value": -1.0}]),
    ([ALICE], [RATE | {"value": 1.5}]),
    ([ALICE], [RATE | {"value": 1e19}]),
    ([HERE], [CONNECTIONS | {"value": 2.0**31}]),
    ([ALICE], [{"key": "nonsense", "value": 1.0}]),
    ([ALICE], [RATE, RATE]),
]
FILTERS: list[list[tuple[str, int, str | None]]] = [
    [],
    [("user", 0, "alice")],
    [("user", 1, None)],
    [("user", 2, None)],
    [("client-id", 2, None)],
    [("user", 0, "alice"), ("client-id", 1, None)],
    [("user", 2, None), ("client-id", 2, None)],
    [("ip", 2, None)],
    [("ip", 1, None)],
    [("ip", 2, None), ("user", 2, None)],
    [("user", 2, None), ("user", 2, None)],
    [("user", 0, None)],
    [("user", 1, "alice")],
    [("user", 9, None)],
    [("rack", 2, None)],
    [("", 2, None)],
]


def in_order(value: Any) -> Any:
    """Kafka's lists are in the order of a hash map, down to the values of an entity."""
    if isinstance(value, list):
        return sorted(map(in_order, value), key=repr)
    return {key: in_order(each) for key, each in value.items()} if isinstance(value, dict) else value


def alter(sides: Sides, version: int, *entries: Any, validate_only: bool = False) -> None:
    rows = [
        {"entity": entity, "ops": [{"remove": False, "value": 0.0} | each for each in ops]} for entity, ops in entries
    ]

    def ask(side: Side) -> Any:
        return in_order(side.ask("AlterClientQuotas", version, entries=rows, validate_only=validate_only))

    sides.agree(ask)


def describe(sides: Sides, version: int) -> None:
    for wanted in FILTERS:
        components = [{"entity_type": kind, "match_type": how, "match": name} for kind, how, name in wanted]
        for strict in (False, True):

            def ask(side: Side, components: Any = components, strict: bool = strict) -> Any:
                return in_order(side.ask("DescribeClientQuotas", version, components=components, strict=strict))

            sides.agree_soon(ask)


@pytest.mark.parametrize("version", range(2))
def test_quotas(sides: Sides, version: int) -> None:
    describe(sides, version)
    for each in REFUSED:
        alter(sides, version, each)
    alter(sides, version, ([ALICE], [RATE]), validate_only=True)
    describe(sides, version)
    alter(sides, version, *GIVEN)
    describe(sides, version)
    gone = [{"key": "producer_byte_rate", "remove": True}, {"key": "nonsense", "remove": True}]
    alter(sides, version, ([ALICE], gone))
    describe(sides, version)
    alter(sides, version, *((entity, [{"key": each["key"], "remove": True} for each in ops]) for entity, ops in GIVEN))
    describe(sides, version)
