"""`penstock acl` on running brokers: ours, and Kafka with its standard authorizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.testing import Broker
from tests.cli.running import Result, Shell
from tests.kafka_peer import KafkaPeer
from tests.waiting import wait_until

RULED = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
Acl = Callable[..., Result]
ORDERS = ["User:ann", "allow", "read", "topic", "orders", "literal", "*"]


@pytest.fixture(scope="module", params=["penstock", pytest.param("kafka", marks=pytest.mark.java)])
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker that keeps rules, and on which everybody is a super user."""
    with Broker(RULED) if request.param == "penstock" else KafkaPeer(properties=RULED) as broker:
        yield broker.bootstrap


@pytest.fixture
def acl(shell: Shell, bootstrap: str) -> Acl:
    return lambda *words: shell("acl", *words, "--bootstrap", bootstrap)


def rules(acl: Acl, *words: str) -> list[list[Any]]:
    return [list(each.values()) for each in json.loads(acl("list", *words, "-o", "json").out)]


def test_rules_are_added_listed_and_removed(acl: Acl) -> None:
    added = acl("add", "-p", "ann", "--operation", "read", "--operation", "write", "--topic", "orders")
    assert added.code == 0
    assert "2 rules are in force" in added.err
    assert acl("add", "-p", "User:ann", "--operation", "read", "--topic", "orders").code == 0, "it is there already"
    acl("add", "-p", "*", "--operation", "all", "--topic", "ord", "--prefixed", "--deny", "--host", "10.0.0.9")
    acl("add", "-p", "ann", "--operation", "alter", "--cluster")
    wait_until(lambda: len(rules(acl)) == 4, what="Kafka's broker has heard of the rules")
    assert ["User:*", "deny", "all", "topic", "ord", "prefixed", "10.0.0.9"] in rules(acl, "--topic", "orders")
    assert rules(acl, "--topic", "orders", "--operation", "read", "--principal", "ann") == [ORDERS]
    assert len(rules(acl, "--topic", "orders", "--exact")) == 2
    assert [each[3] for each in rules(acl, "--cluster")] == ["cluster"]
    shown = acl("remove", "-p", "ann", "--topic", "orders")
    assert "nothing is removed yet (2 rules)" in shown.err
    assert "orders" in shown.out
    assert len(rules(acl)) == 4
    assert "2 rules removed" in acl("remove", "-p", "ann", "--topic", "orders", "--execute").err
    assert "2 rules removed" in acl("remove", "--all", "--execute").err
    wait_until(lambda: not rules(acl), what="Kafka's broker has heard of it")
    assert "there are no such rules" in acl("list").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "-p", "ann", "--operation", "read"], "say about what"),
        (["add", "-p", "ann", "--operation", "read", "--topic", "t", "--group", "g"], "name one"),
        (["add", "-p", "ann", "--operation", "write", "--group", "g"], "nobody can write a group"),
        (["add", "-p", "", "--operation", "read", "--topic", "t"], "a principal has a name"),
        (["add", "-p", "ann", "--operation", "read", "--topic", ""], "a name is not empty"),
        (["remove", "--execute"], "say which rules"),
        (["remove", "--all", "-p", "ann"], "say which rules"),
    ],
)
def test_what_means_nothing_is_refused(shell: Shell, words: list[str], said: str) -> None:
    done = shell("acl", *words)
    assert done.code == 2
    assert said in done.err


def test_without_an_authorizer_it_says_what_to_set(shell: Shell) -> None:
    with Broker() as broker:
        done = shell("acl", "list", "--bootstrap", broker.bootstrap)
    assert done.code == 1
    assert "set authorizer.class.name on all nodes" in done.err
