"""Moving a group: first what would change, partition by partition; then exactly that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from starlette.responses import Response

from penstock.client.blocking import Client
from penstock.client.groups import SHARE, Group, Groups
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import NO_OFFSET, edges, list_offsets
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Visit, whole
from penstock.services.console.scanning import moment_ms
from penstock.services.console.standing import exact_offsets, put

TARGETS: Final = ("earliest", "latest", "offset", "time", "by")
PLANNED_MAX: Final = 1_000


class Move(NamedTuple):
    where: TopicPartition
    before: int | None
    after: int


async def planning(visit: Visit) -> Response:
    """Nothing is changed; the form at the end holds what was shown."""
    name, topic = visit.asked("name"), visit.asked("topic")
    to, at = visit.asked("to", "earliest"), visit.asked("at")
    group = await visit.ask(lambda client: Groups(client).describe(name))
    moves = await visit.ask(lambda client: plan(client, group, topic, to, at))
    planned = ",".join(f"{move.where.partition}:{move.after}" for move in moves)
    return visit.show(
        "group_reset.html", name=name, topic=topic, moves=moves, planned=planned, members=len(group.members)
    )


def plan(client: Client, group: Group, topic: str, to: str, at: str) -> list[Move]:
    """Each partition that the group has read, or all where it has read none, within what is there."""
    known = exact_offsets(client, group.name, group.kind)
    committed = {where: offset for where, offset in known.items() if where.topic == topic}
    places = sorted(committed) or [TopicPartition(topic, each.number) for each in client.topic(topic).partitions]
    limits = edges(client, places[:PLANNED_MAX])
    wanted = _wanted(client, limits, committed, to, at)
    return [
        Move(where, committed.get(where), min(max(wanted[where], first), end)) for where, (first, end) in limits.items()
    ]


def _wanted(
    client: Client,
    limits: Mapping[TopicPartition, tuple[int, int]],
    committed: Mapping[TopicPartition, int],
    to: str,
    at: str,
) -> dict[TopicPartition, int]:
    match to:
        case "earliest":
            return {where: first for where, (first, _) in limits.items()}
        case "latest":
            return {where: end for where, (_, end) in limits.items()}
        case "offset":
            return dict.fromkeys(limits, whole(at, "offset"))
        case "by":
            count = whole(at, "by how many", -(10**18))
            return {where: committed.get(where, first) + count for where, (first, _) in limits.items()}
        case "time":
            found = list_offsets(client, dict.fromkeys(limits, moment_ms(at)))
            return {
                where: end if found[where].offset == NO_OFFSET else found[where].offset
                for where, (_, end) in limits.items()
            }
    raise Mistake(f"to {to[:40]!r}: a group cannot go there", f"there are {', '.join(TARGETS)}")


async def reset(visit: Visit) -> Response:
    name, topic = visit.given("name"), visit.given("topic")
    visit.require_typed(name)
    offsets = {}
    for each in filter(None, visit.given("planned").split(",")):
        partition, _, offset = each.partition(":")
        offsets[TopicPartition(topic, whole(partition, "partition"))] = whole(offset, "offset")
    if not offsets:
        raise Mistake("there is nothing to move")
    await visit.ask(lambda client: put(client, name, kind_of(client, name), offsets))
    return visit.go("/groups/view", f"group {name} stands where it was put in {topic}", name=name)


def kind_of(client: Client, name: str) -> str:
    """A group that is not there yet is made by what is committed."""
    return SHARE if Groups(client).is_share_group(name) else ""


VIEWS: Final = {"/groups/reset": planning}
ACTIONS: Final = {"/groups/reset": reset}
