"""Pipelines: how each last said that it is, and asking one to stop."""

from __future__ import annotations

import time
from typing import Final

from starlette.responses import Response

from penstock.client.blocking import Client
from penstock.client.pipeline_runs import Registry, Run
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Page, Visit
from penstock.services.console.paging import page_of


def look(client: Client) -> list[Run]:
    """By name; one that should be heard and is not is lost."""
    now_ms = int(time.time() * 1000)
    return [run.seen_at(now_ms) for _, run in sorted(Registry(client).read().runs.items())]


async def pipelines(visit: Visit) -> Response:
    wanted = visit.asked("q").lower()
    runs = [run for run in await visit.ask(look) if wanted in run.pipeline.lower()]
    query = {"q": visit.asked("q")} if visit.asked("q") else {}
    return visit.either("pipelines", page=page_of(runs, visit.number("page", 1)), query=query)


async def stop(visit: Visit) -> Response:
    """It finishes its batch, and begins no other."""
    name = visit.given("pipeline")
    visit.require_typed(name)

    def perform(client: Client) -> None:
        registry = Registry(client)
        run = registry.read().runs.get(name)
        if run is None or not run.seen_at(int(time.time() * 1000)).state.is_alive:
            raise Mistake(f"{name[:60]} does not run", "start it with `penstock pipeline run`", 404)
        registry.ask_to_stop(run)

    await visit.ask(perform)
    return visit.go("/pipelines", f"{name} is asked to stop: it finishes its batch")


PAGE: Final = Page("pipelines", "Pipelines", "/pipelines", "p", {"/pipelines": pipelines}, {"/pipelines/stop": stop})
