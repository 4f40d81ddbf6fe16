"""The settings of a topic: each with its words, and an editor that notices when somebody else was quicker."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from penstock.client.admin import TOPIC, Admin
from penstock.client.blocking import Client
from penstock.services.console.described import described
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Visit


async def settings(visit: Visit) -> Response:
    view = await visit.topic()
    wanted = visit.asked("q").lower()
    found = await visit.ask(lambda client: described(client, TOPIC, view.name))
    shown = [each for each in found if wanted in each.name or wanted in each.doc.lower()]
    return visit.either("topic_settings", topic=view, settings=shown)


async def change(visit: Visit) -> Response:
    """Sets one, or lets it fall back to its default; only if it still is what was seen."""
    view, name, seen, value = await visit.topic(), visit.given("name"), visit.given("seen"), visit.given("to")
    is_unset = visit.given("unset") == "1"

    def perform(client: Client) -> None:
        now = next((each for each in described(client, TOPIC, view.name) if each.name == name), None)
        if now is None:
            raise Mistake(f"{name[:60]} is no setting of a topic")
        if (now.value or "") != seen:
            raise Mistake(
                f"{name} is {now.value} by now: somebody else has changed it",
                "load the page again, and decide anew",
                409,
            )
        Admin(client).alter_configs(TOPIC, view.name, {} if is_unset else {name: value}, [name] if is_unset else ())

    await visit.ask(perform)
    said = f"{name} falls back to its default" if is_unset else f"{name} is {value} now"
    return visit.go(f"/topics/{view.name}/settings", said)


VIEWS: Final = {"/topics/{topic}/settings": settings}
ACTIONS: Final = {"/topics/{topic}/settings": change}
