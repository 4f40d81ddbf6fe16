"""The settings of a topic: each with its words, its default, and who set it."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from penstock.client.admin import TOPIC
from penstock.services.console import editing
from penstock.services.console.page import Visit


async def settings(visit: Visit) -> Response:
    topic = await visit.topic()
    found = await editing.settings_of(visit, TOPIC, topic.name)
    return visit.either("topic_settings", topic=topic, settings=found, action=f"/topics/{topic.name}/settings")


async def change(visit: Visit) -> Response:
    topic = await visit.topic()
    said = await editing.change(visit, TOPIC, topic.name)
    return visit.go(f"/topics/{topic.name}/settings", said)


VIEWS: Final = {"/topics/{topic}/settings": settings}
ACTIONS: Final = {"/topics/{topic}/settings": change}
