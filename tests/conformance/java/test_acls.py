"""Kafka's tool for access rules."""

from __future__ import annotations

import pytest

from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.testing import Broker
from tests.conformance.java.running import run, run_failing
from tests.kafka_peer import Tool

pytestmark = [pytest.mark.java, pytest.mark.slow]

RULED = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}


def test_rules_are_added_listed_and_removed() -> None:
    with Broker(RULED) as broker:
        producer = ("--allow-principal", "User:ann", "--producer", "--topic", "orders", "--transactional-id", "shop")
        run(broker, Tool.ACLS, "--add", *producer)
        run(
            broker,
            Tool.ACLS,
            *("--add", "--deny-principal", "User:*", "--deny-host", "10.0.0.9", "--operation", "Read"),
            *("--topic", "ord", "--resource-pattern-type", "prefixed"),
        )
        listed = run(broker, Tool.ACLS, "--list")
        for said in (
            "ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)",
            "(principal=User:ann, host=*, operation=WRITE, permissionType=ALLOW)",
            "ResourcePattern(resourceType=TRANSACTIONAL_ID, name=shop, patternType=LITERAL)",
            "ResourcePattern(resourceType=TOPIC, name=ord, patternType=PREFIXED)",
            "(principal=User:*, host=10.0.0.9, operation=READ, permissionType=DENY)",
        ):
            assert said in listed
        run(broker, Tool.ACLS, "--remove", "--topic", "orders", "--resource-pattern-type", "match", "--force")
        left = run(broker, Tool.ACLS, "--list")
        assert "resourceType=TOPIC" not in left
        assert "name=shop" in left


def test_without_an_authorizer_it_says_so(broker: Broker) -> None:
    assert "SecurityDisabledException" in run_failing(broker, Tool.ACLS, "--list")
