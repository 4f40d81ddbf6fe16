"""One topic: its partitions, who reads it, and what can be done with it."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from penstock.client.admin import Admin
from penstock.client.metadata import TopicPartition
from penstock.services.console.looks import sizes
from penstock.services.console.page import Visit
from penstock.services.console.paging import page_of

PARTITIONS_SHOWN: Final = 100


async def topic(visit: Visit) -> Response:
    view = await visit.topic()
    page = page_of(view.partitions, visit.number("page", 1), PARTITIONS_SHOWN)
    found = await visit.ask(lambda client: sizes(client, [view._replace(partitions=tuple(page.items))]))
    sample = visit.sampler.newest()
    readers = [] if sample is None else [(name, sample.lags.get(name)) for name in sample.readers.get(view.name, ())]
    places = [TopicPartition(view.name, each.number) for each in page.items]
    rows = [
        (each, found.edges.get(where), found.bytes.get(where)) for each, where in zip(page.items, places, strict=True)
    ]
    return visit.show("topic.html", topic=view, page=page, rows=rows, readers=readers, is_sampled=sample is not None)


async def grow(visit: Visit) -> Response:
    view, count = await visit.topic(), visit.given_number("partitions", 1)
    await visit.ask(lambda client: Admin(client).add_partitions(view.name, count))
    return visit.go(f"/topics/{view.name}", f"{view.name} has {count} partitions now")


async def delete(visit: Visit) -> Response:
    view = await visit.topic()
    visit.require_typed(view.name)
    await visit.ask(lambda client: Admin(client).delete_topic(view.name))
    return visit.go("/topics", f"topic {view.name} was deleted")


async def delete_records(visit: Visit) -> Response:
    """What lies before an offset of one partition, or everything."""
    view = await visit.topic()
    visit.require_typed(view.name)
    number, before = visit.given_number("partition"), visit.given_number("before", -1)
    where = TopicPartition(view.name, number)
    done = await visit.ask(lambda client: Admin(client).delete_records({where: before}))
    return visit.go(f"/topics/{view.name}", f"{where} begins at offset {done[where]} now")


VIEWS: Final = {"/topics/{topic}": topic}
ACTIONS: Final = {
    "/topics/{topic}/grow": grow,
    "/topics/{topic}/delete": delete,
    "/topics/{topic}/delete-records": delete_records,
}
