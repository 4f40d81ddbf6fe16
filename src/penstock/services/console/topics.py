"""Topics: all of them, one page at a time, and making one."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from penstock.client.admin import DEFAULT, Admin
from penstock.services.console import live, messages, producing, topic, topic_settings
from penstock.services.console.looks import sizes
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Page, Visit, whole
from penstock.services.console.paging import page_of


async def topics(visit: Visit) -> Response:
    picture = await visit.picture()
    wanted, internal = visit.asked("q").lower(), visit.asked("internal") == "1"
    names = sorted(
        name for name, each in picture.topics.items() if wanted in name.lower() and (internal or not each.is_internal)
    )
    page = page_of(names, visit.number("page", 1))
    shown = [picture.topics[name] for name in page.items]
    found = await visit.ask(lambda client: sizes(client, shown))
    sample = visit.sampler.newest()
    query = {"q": visit.asked("q"), **({"internal": "1"} if internal else {})}
    lags = {} if sample is None else sample.topic_lags
    return visit.either("topics", page=page, shown=shown, sizes=found, query=query, lags=lags)


async def creating(visit: Visit) -> Response:
    return visit.show("topic_create.html")


async def create(visit: Visit) -> Response:
    name = visit.given("name").strip()
    if not name:
        raise Mistake("a topic has a name")
    partitions, copies = _count(visit, "partitions"), _count(visit, "replication_factor")
    configs = settings_in(visit.given("configs"))
    made = await visit.ask(lambda client: Admin(client).create_topic(name, partitions, copies, configs))
    return visit.go(f"/topics/{made.name}", f"topic {made.name} was made")


def _count(visit: Visit, field: str) -> int:
    """What is left empty is the cluster's default."""
    text = visit.given(field)
    return whole(text, field.replace("_", " "), 1) if text.strip() else DEFAULT


def settings_in(text: str) -> dict[str, str]:
    """Lines of key=value."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        key, equals, value = line.partition("=")
        if not equals:
            raise Mistake(f"{line[:60]!r} is no setting", "settings are lines of key=value")
        found[key.strip()] = value.strip()
    return found


PAGE: Final = Page(
    "topics",
    "Topics",
    "/topics",
    "t",
    {
        "/topics": topics,
        "/topics-create": creating,
        **topic.VIEWS,
        **topic_settings.VIEWS,
        **messages.VIEWS,
        **live.VIEWS,
        **producing.VIEWS,
    },
    {"/topics-create": create, **topic.ACTIONS, **topic_settings.ACTIONS, **producing.ACTIONS},
)
