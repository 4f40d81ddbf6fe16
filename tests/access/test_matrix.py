"""Who hears what: every row of the matrix on a node with the standard authorizer, at each of the four kinds of
listeners, where who asks is known by nothing but his address, by a certificate, or by a login."""

from __future__ import annotations

import pytest

from penstock.core.apis.table import load_apis
from penstock.core.node.serving.context import ANONYMOUS
from tests.access.kinds import KINDS, LOGGING_IN, PLAINTEXT, TownOf, askers_at, entries_at, listener_of, prepared
from tests.access.matrix import FOR_STRANGERS, ROWS, askers, judge
from tests.access.town import STRANGER, SUPER


@pytest.fixture(scope="module", params=KINDS)
def town(request: pytest.FixtureRequest) -> TownOf:
    town = prepared(TownOf(request.param))
    town.allow(*entries_at(town.kind))
    return town


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda number: ROWS[number].label)
def test_who_hears_what(town: TownOf, number: int) -> None:
    check_stranger(town, number)
    row = ROWS[number]
    for asker in askers_at(town.kind, number):
        answer = town.ask(asker.name, row.api, row.version, listener=listener_of(row), **row.values)
        judge(row, asker, answer)


def check_stranger(town: TownOf, number: int) -> None:
    """Before he says who he is he is answered in few things only; where he need not say it, he is nobody in
    particular."""
    row = ROWS[number]
    client = town.client(STRANGER, listener_of(row))
    client.send(town.request(row.api, row.version, **row.values), row.version)
    if town.kind in LOGGING_IN:
        assert bool(client.replies()) == (row.api in FOR_STRANGERS)
        assert client.connection.closing == (row.api not in FOR_STRANGERS)
    else:
        judge(row, askers_at(town.kind, number)[0], town.answer_of(client, row.label))


def test_every_api_that_is_served_is_in_the_table() -> None:
    assert {row.api for row in ROWS} == {api.name for api in load_apis().values()}


def test_at_a_plain_listener_all_are_super_users_if_nobody_in_particular_is_one() -> None:
    """`User:ANONYMOUS` among the super users is everybody at a plain listener."""
    town = prepared(TownOf(PLAINTEXT, **{"super.users": f"User:{SUPER};{ANONYMOUS}"}))
    for number, row in enumerate(ROWS):
        asker = askers(number)[-1]
        judge(row, asker, town.ask(asker.name, row.api, row.version, listener=listener_of(row), **row.values))
