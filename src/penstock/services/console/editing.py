"""Changing a setting of anything, unless somebody else was quicker."""

from __future__ import annotations

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.services.console.described import Described, described
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Visit


async def settings_of(visit: Visit, kind: int, name: str, node: int | None = None) -> list[Described]:
    """Those whose name or words have what is searched."""
    wanted = visit.asked("q").lower()
    found = await visit.ask(lambda client: described(client, kind, name, node))
    return [each for each in found if wanted in each.name or wanted in each.doc.lower()]


async def change(visit: Visit, kind: int, name: str, node: int | None = None) -> str:
    """Sets one, or lets it fall back to its default; only if it still is what was seen."""
    key, seen, value = visit.given("name"), visit.given("seen"), visit.given("to")
    is_unset = visit.given("unset") == "1"

    def perform(client: Client) -> None:
        now = next((each for each in described(client, kind, name, node) if each.name == key), None)
        if now is None:
            raise Mistake(f"there is no setting {key[:60]}")
        if (now.value or "") != seen:
            raise Mistake(
                f"{key} is {now.value} by now: somebody else has changed it",
                "load the page again, and decide anew",
                409,
            )
        Admin(client).alter_configs(kind, name, {} if is_unset else {key: value}, [key] if is_unset else ())

    await visit.ask(perform)
    return f"{key} falls back to its default" if is_unset else f"{key} is {value} now"
