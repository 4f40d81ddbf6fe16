"""Who did what: through this console, and, where the cluster keeps a trail, in all of it."""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.responses import Response

from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.reading import Reader
from penstock.services.console.page import Page, Visit
from penstock.services.console.paging import page_of

TRAIL: Final = TopicPartition("__penstock_audit", 0)
READ_MAX: Final = 2_000


async def audit(visit: Visit) -> Response:
    """Of the console's own actions each sees his; who may read the cluster's trail sees everybody's there."""
    wanted = visit.asked("q").lower()
    is_kept = TRAIL.topic in (await visit.picture()).topics
    entries: list[dict[str, Any]] = await visit.ask(trail) if is_kept else []
    chosen = [each for each in entries if wanted in json.dumps(each, ensure_ascii=False).lower()]
    own = [each for each in visit.trail.deeds if each.user == (visit.session.user or "ANONYMOUS")][:50]
    page = page_of(chosen, visit.number("page", 1))
    return visit.show("audit.html", page=page, own=own, is_kept=is_kept, query={"q": visit.asked("q")})


def trail(client: Client) -> list[dict[str, Any]]:
    """The newest entries, the last one first."""
    first, end = edges(client, [TRAIL])[TRAIL]
    found = []
    for chunk in Reader(client, {TRAIL: max(first, end - READ_MAX)}, until={TRAIL: end}):
        for record in chunk.records:
            try:
                entry = json.loads(record.value or b"")
            except ValueError:
                continue
            if isinstance(entry, dict):
                found.append({"time": record.timestamp / 1000, **{str(key): each for key, each in entry.items()}})
    return found[::-1]


PAGE: Final = Page("audit", "Audit", "/audit", "u", {"/audit": audit})
