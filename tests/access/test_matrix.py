"""Who hears what: every row of the matrix on a node with the standard authorizer."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.apis.table import load_apis
from tests.access.matrix import FOR_STRANGERS, ROWS, TOPICS, Row, askers, entries, judge
from tests.access.town import STRANGER, SUPER, Town


@pytest.fixture(scope="module")
def town() -> Town:
    town = Town()
    town.create(*TOPICS)
    town.ask(SUPER, "FindCoordinator", 4, coordinator_keys=["held"], key_type=1)
    town.ask(SUPER, "InitProducerId", 4, transactional_id="held", transaction_timeout_ms=1000)
    town.ask(SUPER, "FindCoordinator", 4, coordinator_keys=["g"], key_type=0)
    topics = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 0}]}]
    town.ask(SUPER, "OffsetCommit", 8, group_id="g", generation_id_or_member_epoch=-1, topics=topics)
    town.allow(*entries())
    return town


def ask(town: Town, row: Row, name: str) -> Any:
    listener = "CONTROLLER" if row.on_controller else "PLAINTEXT"
    return town.ask(name, row.api, row.version, listener=listener, **row.values)


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda number: ROWS[number].label)
def test_who_hears_what(town: Town, number: int) -> None:
    for asker in askers(number):
        judge(ROWS[number], asker, ask(town, ROWS[number], asker.name))


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda number: ROWS[number].label)
def test_a_stranger_is_answered_before_he_says_who_he_is_in_few_things_only(town: Town, number: int) -> None:
    row = ROWS[number]
    client = town.client(STRANGER, "CONTROLLER" if row.on_controller else "PLAINTEXT")
    client.send(town.request(row.api, row.version, **row.values), row.version)
    assert bool(client.replies()) == (row.api in FOR_STRANGERS)
    assert client.connection.closing == (row.api not in FOR_STRANGERS)


def test_every_api_that_is_served_is_in_the_table() -> None:
    assert {row.api for row in ROWS} == {api.name for api in load_apis().values()}
