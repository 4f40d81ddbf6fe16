"""Groups: all of them, with their lag; one with its members, how far it is, and how that changed; moving it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from starlette.responses import Response

from penstock.client.blocking import Client
from penstock.client.everybody import Silent
from penstock.client.groups import Group, Groups
from penstock.client.metadata import TopicPartition
from penstock.core.wire.api.list_groups import ListedGroup
from penstock.services.console import group_reset, standing
from penstock.services.console.cluster import Picture
from penstock.services.console.page import Page, Visit
from penstock.services.console.paging import page_of
from penstock.services.console.sampling import ends_of, lag_by_topic
from penstock.services.console.standing import lags_told, offsets_of

LIST_SECONDS: Final = 3.0
ROWS_MAX: Final = 1_000
WHY: Final = {
    "PreparingRebalance": "a member has joined or left, and all are to join anew; one that does not come "
    "holds all up until its rebalance timeout",
    "CompletingRebalance": "all have joined, and wait for the leader among them to say who reads what",
    "Assigning": "somebody has joined or left, or a topic has changed, and a new assignment is made",
    "Reconciling": "members give up what others are to read; one that is busy holds these partitions up",
    "Empty": "nobody is in it; what it has committed stays until offsets.retention.minutes are over",
    "Dead": "it is being removed",
}


class Row(NamedTuple):
    """How far a group is in one partition."""

    where: TopicPartition
    committed: int | None
    end: int | None
    member: str
    told: int | None = None
    """What a share group says of it itself."""

    @property
    def lag(self) -> int | None:
        if self.told is not None:
            return self.told
        return None if self.committed is None or self.end is None else max(0, self.end - self.committed)


async def known_groups(visit: Visit) -> tuple[list[ListedGroup], Silent]:
    def look(client: Client) -> tuple[list[ListedGroup], Silent]:
        found, silent = Groups(client).known()
        return list(found), silent

    return await visit.cluster.remembered("groups", LIST_SECONDS, look)


async def groups(visit: Visit) -> Response:
    found, silent = await known_groups(visit)
    wanted, kind = visit.asked("q").lower(), visit.asked("kind")
    chosen = [each for each in found if wanted in each.group_id.lower() and kind in ("", each.group_type.lower())]
    page = page_of(chosen, visit.number("page", 1))
    picture = await visit.picture()
    visit.sampler.newest()
    lags = await visit.ask(lambda client: lags_of(client, picture, page.items))
    query = {name: visit.asked(name) for name in ("q", "kind") if visit.asked(name)}
    kinds = sorted({each.group_type.lower() for each in found})
    return visit.either("groups", page=page, lags=lags, query=query, kinds=kinds, silent=silent.brokers)


def lags_of(client: Client, picture: Picture, found: Sequence[ListedGroup]) -> dict[str, int | None]:
    """Of those that have committed something."""
    committed = {each.group_id: offsets_of(client, each.group_id, each.group_type) for each in found}
    ends = ends_of(client, picture, {where for offsets in committed.values() for where in offsets})
    return {name: sum(lag_by_topic(offsets, ends).values()) if offsets else None for name, offsets in committed.items()}


async def group(visit: Visit) -> Response:
    name = visit.asked("name")
    picture = await visit.picture()
    found, rows = await visit.ask(lambda client: look(client, picture, name))
    visit.sampler.newest(name)
    page = page_of(rows, visit.number("page", 1), 100)
    total = sum(row.lag for row in rows if row.lag is not None)
    values = {"group": found, "page": page, "why": WHY.get(found.state), "total": total}
    topics = sorted({row.where.topic for row in rows})
    return visit.either(
        "group", plot=plot_of(visit.sampler.history(name)), topics=topics, query={"name": name}, **values
    )


def look(client: Client, picture: Picture, name: str) -> tuple[Group, list[Row]]:
    found = Groups(client).describe(name)
    committed = offsets_of(client, name, found.kind)
    told = lags_told(client, name, found.kind)
    owners = {where: member.client_id or member.member_id for member in found.members for where in member.partitions}
    places = sorted({*committed, *owners})[:ROWS_MAX]
    ends: Mapping[TopicPartition, int] = ends_of(client, picture, places)
    return found, [
        Row(where, committed.get(where), ends.get(where), owners.get(where, ""), told.get(where)) for where in places
    ]


def plot_of(history: list[tuple[float, int | None]]) -> str:
    """Columns, as the plot wants them."""
    return json.dumps([[at for at, _ in history], [lag for _, lag in history]])


async def delete(visit: Visit) -> Response:
    name = visit.given("name")
    visit.require_typed(name)
    await visit.ask(lambda client: Groups(client).delete(name))
    return visit.go("/groups", f"group {name} was deleted")


async def forget(visit: Visit) -> Response:
    """How far it is in one topic."""
    name, topic = visit.given("name"), visit.given("topic")
    visit.require_typed(name)

    def perform(client: Client) -> int:
        return standing.forget(client, name, Groups(client).describe(name).kind, topic)

    count = await visit.ask(perform)
    return visit.go("/groups/view", f"group {name} knows nothing of {count} partitions of {topic} any more", name=name)


PAGE: Final = Page(
    "groups",
    "Groups",
    "/groups",
    "c",
    {"/groups": groups, "/groups/view": group, **group_reset.VIEWS},
    {"/groups/delete": delete, "/groups/forget": forget, **group_reset.ACTIONS},
)
