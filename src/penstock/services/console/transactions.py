"""Transactional ids: which transactions are open, since when, over which partitions; and ending one that hangs."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from penstock.client.blocking import Client
from penstock.client.transactions import Described, Transactions
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Page, Visit
from penstock.services.console.paging import page_of

OPEN: Final = ("Ongoing", "PrepareCommit", "PrepareAbort")


async def transactions(visit: Visit) -> Response:
    wanted, is_open = visit.asked("q").lower(), visit.asked("open") == "1"
    found = await visit.ask(lambda client: Transactions(client).list(OPEN if is_open else ()))
    chosen = [each for each in found if wanted in each.transactional_id.lower()]
    query = {name: visit.asked(name) for name in ("q", "open") if visit.asked(name)}
    return visit.either("transactions", page=page_of(chosen, visit.number("page", 1)), query=query)


async def transaction(visit: Visit) -> Response:
    name = visit.asked("id")
    return visit.show("transaction.html", found=await visit.ask(lambda client: Transactions(client).describe(name)))


async def end(visit: Visit) -> Response:
    """Aborts it; its producer is fenced."""
    name = visit.given("id")
    visit.require_typed(name)

    def perform(client: Client) -> Described:
        known = Transactions(client).describe(name)
        if not known.is_open:
            raise Mistake(f"{name} has no open transaction: it is {known.state}")
        Transactions(client).terminate(known)
        return known

    known = await visit.ask(perform)
    return visit.go("/transactions", f"the transaction of {known.transactional_id} is aborted, and its producer fenced")


PAGE: Final = Page(
    "transactions",
    "Transactions",
    "/transactions",
    "x",
    {"/transactions": transactions, "/transactions/view": transaction},
    {"/transactions/end": end},
)
