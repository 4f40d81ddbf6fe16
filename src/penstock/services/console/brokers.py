"""Brokers: which there are, what each holds, where every partition is, and what moves."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from penstock.client.admin import BROKER
from penstock.client.blocking import Client
from penstock.client.health import State, state_of
from penstock.client.metadata import TopicPartition
from penstock.client.moving import Mover, Moving
from penstock.client.quorum import Registered, registered_brokers
from penstock.services.console import editing
from penstock.services.console.cluster import Picture
from penstock.services.console.looks import Disk, allowed, known_disks
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Page, Visit, whole
from penstock.services.console.paging import page_of

ROWS: Final = 40
LETTERS: Final = {State.LEADER: "L", State.IN_SYNC: "I", State.OUT_OF_SYNC: "o", State.OFFLINE: "X", State.NONE: ""}


class Load(NamedTuple):
    leaders: int
    replicas: int


class Found(NamedTuple):
    brokers: tuple[Registered, ...]
    disks: tuple[Disk, ...]
    silent: tuple[int, ...]
    moving: dict[TopicPartition, Moving]


def look(client: Client) -> Found:
    found, silent = known_disks(client)
    moving: dict[TopicPartition, Moving] = allowed(lambda: Mover(client).under_way(), {})
    return Found(tuple(registered_brokers(client)), found, silent, moving)


def loads_of(picture: Picture) -> dict[int, Load]:
    leaders, replicas = Counter[int](), Counter[int]()
    for topic in picture.topics.values():
        for each in topic.partitions:
            leaders[each.leader] += 1
            replicas.update(each.replicas)
    return {node: Load(leaders[node], count) for node, count in replicas.items()}


async def brokers(visit: Visit) -> Response:
    picture = await visit.picture()
    found = await visit.cluster.remembered("brokers", 3.0, look)
    wanted = visit.asked("q").lower()
    names = sorted(name for name in picture.topics if wanted in name.lower())
    places = [(name, each) for name in names for each in picture.topics[name].partitions]
    page = page_of(places, visit.number("page", 1), ROWS)
    alive = [broker.node_id for broker in found.brokers if not broker.is_fenced]
    rows = [
        (TopicPartition(name, each.number), [state_of(broker.node_id, each, alive) for broker in found.brokers])
        for name, each in page.items
    ]
    values: dict[str, Any] = {
        "found": found,
        "picture": picture,
        "loads": loads_of(picture),
        "page": page,
        "rows": rows,
    }
    return visit.show("brokers.html", letters=LETTERS, query={"q": visit.asked("q")}, **values)


def _node(visit: Visit) -> int:
    return whole(visit.request.path_params["id"], "a broker's id")


async def broker(visit: Visit) -> Response:
    node = _node(visit)
    found = await editing.settings_of(visit, BROKER, str(node), node)
    return visit.either("broker", node=node, settings=found, action=f"/brokers/{node}")


async def change(visit: Visit) -> Response:
    node = _node(visit)
    return visit.go(f"/brokers/{node}", await editing.change(visit, BROKER, str(node), node))


async def move(visit: Visit) -> Response:
    """The copies of a partition to other brokers; the first one named shall lead."""
    where = TopicPartition(visit.given("topic").strip(), visit.given_number("partition"))
    targets = [whole(each, "a broker's id") for each in visit.given("to").replace(",", " ").split()]
    if not targets or len(set(targets)) < len(targets):
        raise Mistake("each copy is on a broker of its own", "such as 1, 2, 3")
    await visit.ask(lambda client: Mover(client).move({where: targets}))
    return visit.go("/brokers", f"{where} moves to {', '.join(map(str, targets))}")


async def cancel(visit: Visit) -> Response:
    where = TopicPartition(visit.given("topic"), visit.given_number("partition"))
    await visit.ask(lambda client: Mover(client).cancel([where]))
    return visit.go("/brokers", f"{where} stays where it was")


async def prefer(visit: Visit) -> Response:
    """Partitions that others lead go back to the first of their copies."""
    picture = await visit.picture()
    places = [
        TopicPartition(topic.name, each.number)
        for topic in picture.topics.values()
        for each in topic.partitions
        if each.replicas and each.leader != each.replicas[0]
    ]
    failed = await visit.ask(lambda client: Mover(client).lead_where_preferred(places)) if places else {}
    return visit.go("/brokers", f"{len(places) - len(failed)} of {len(places)} partitions are led where they should be")


PAGE: Final = Page(
    "brokers",
    "Brokers",
    "/brokers",
    "b",
    {"/brokers": brokers, "/brokers/{id}": broker},
    {"/brokers/move": move, "/brokers/cancel": cancel, "/brokers/prefer": prefer, "/brokers/{id}": change},
)
