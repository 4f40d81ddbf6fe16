"""The controllers: who leads, who votes, and how far behind each is."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.quorum import Quorum, describe_quorum
from penstock.services.console.page import Page, Visit


async def quorum(visit: Visit) -> Response:
    def look(client: Client) -> tuple[Quorum, dict[str, int]]:
        return describe_quorum(client), Admin(client).features()

    found, features = await visit.ask(look)
    members = [(each, role) for role in ("voters", "observers") for each in getattr(found, role)]
    values: dict[str, Any] = {"quorum": found, "members": members, "features": sorted(features.items())}
    return visit.either("quorum", **values)


PAGE: Final = Page("quorum", "Quorum", "/quorum", "q", {"/quorum": quorum})
