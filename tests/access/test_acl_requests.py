"""What Kafka stumbles over, and what is bounded; the rest is compared with it in `tests/conformance/beside_kafka`."""

from __future__ import annotations

import pytest

from penstock.core.access import acl_requests
from penstock.core.access.words import ANY, MATCH
from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.create_acls import CreateAclsRequest
from tests.access.town import SUPER, Town, entry


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("resource_type", ANY),
        ("resource_pattern_type", ANY),
        ("resource_pattern_type", MATCH),
        ("operation", ANY),
        ("permission_type", ANY),
    ],
)
def test_a_rule_is_about_something(name: str, number: int) -> None:
    bad = entry("ann", "READ TOPIC t")
    setattr(bad, name, number)
    town = Town()
    answer = town.client(SUPER).ask(CreateAclsRequest(creations=[bad, entry("ann", "READ TOPIC t")]))
    assert [each.error_code for each in answer.results] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert len(town.world.node.image.access.entries) == 1


def test_there_is_a_bound_on_rules_in_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_requests, "RECORDS_PER_REQUEST_MAX", 3)
    town = Town()
    rules = [entry("ann", f"READ TOPIC t{number}") for number in range(4)]
    answer = town.client(SUPER).ask(CreateAclsRequest(creations=rules))
    assert {each.error_code for each in answer.results} == {ErrorCode.INVALID_REQUEST}
    assert not town.world.node.image.access.entries
    town.allow(*rules[:3])
    town.allow(rules[3])
    assert not town.revoke("ann"), "four at once are too many to be removed"
    assert len(town.world.node.image.access.entries) == 4


def test_many_rules_are_deleted_in_turns() -> None:
    town = Town()
    rules = [entry("ann", f"READ TOPIC t{number}") for number in range(6_000)]
    for first in range(0, len(rules), 1_000):
        town.allow(*rules[first : first + 1_000])
    assert len(town.world.node.image.access.entries) == len(rules)
    assert town.revoke("ann") == len(rules)
    assert not town.world.node.image.access.entries
    assert not town.world.node.image.access.rules
