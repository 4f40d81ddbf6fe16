"""The registry's subjects: every version, two of them side by side, and a check before one is saved."""

from __future__ import annotations

import asyncio
import difflib
import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from starlette.responses import Response

from penstock.client.registry import Registered, RegistryClient
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Page, Visit, whole
from penstock.services.console.paging import page_of

TYPES: Final = ("AVRO", "JSON", "PROTOBUF")
TIMEOUT_SECONDS: Final = 5.0
T = TypeVar("T")


class Line(NamedTuple):
    """Of two versions: what both have, or one of them."""

    mark: str
    text: str


async def ask(visit: Visit, do: Callable[[RegistryClient], T]) -> T:
    """The registry, as the user."""
    if visit.session.registry is None:
        raise Mistake(
            "no schema registry was named",
            "start one with `penstock registry`, and the console with --registry http://127.0.0.1:8081",
            404,
        )
    client = RegistryClient(visit.session.registry.url, ca=visit.session.registry.ca, timeout=TIMEOUT_SECONDS)
    return await asyncio.to_thread(do, client)


async def subjects(visit: Visit) -> Response:
    wanted = visit.asked("q").lower()
    names = sorted(name for name in await ask(visit, lambda client: client.subjects()) if wanted in name.lower())
    return visit.either("schemas", page=page_of(names, visit.number("page", 1)), query={"q": visit.asked("q")})


async def subject(visit: Visit) -> Response:
    name = visit.asked("name")

    def look(client: RegistryClient) -> tuple[list[int], Registered, Registered | None]:
        versions = client.versions(name)
        shown = whole(visit.asked("version") or str(versions[-1]), "version", 1)
        beside = visit.asked("beside") or next((str(each) for each in versions[::-1] if each < shown), "")
        return versions, client.version(name, shown), client.version(name, int(beside)) if beside.isdecimal() else None

    versions, shown, beside = await ask(visit, look)
    lines = [] if beside is None else compared(readable(beside), readable(shown))
    values: dict[str, Any] = {"versions": versions, "shown": shown, "beside": beside, "lines": lines}
    return visit.show("schema.html", name=name, text=readable(shown), types=TYPES, **values)


def readable(schema: Registered) -> str:
    """JSON with lines; what is none stays as it was written."""
    try:
        return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False)
    except ValueError:
        return schema.text


def compared(before: str, after: str) -> list[Line]:
    found = difflib.ndiff(before.splitlines(), after.splitlines())
    return [Line(each[0].strip(), each[2:]) for each in found if each[0] != "?"]


async def check(visit: Visit) -> Response:
    """What would keep it from being saved; and, where nothing would and it is wanted, saves it."""
    name, text, type = visit.given("name").strip(), visit.given("text"), visit.given("type")
    if not name or type not in TYPES:
        raise Mistake("a schema has a subject, and is of a type", f"one of {', '.join(TYPES)}")
    known = await ask(visit, lambda client: client.subjects())
    obstacles = await ask(visit, lambda client: client.obstacles(name, type, text)) if name in known else []
    if visit.given("save") == "1" and not obstacles:
        id = await ask(visit, lambda client: client.register(name, type, text))
        return visit.go("/schemas/view", f"saved with the id {id}", name=name)
    values: dict[str, Any] = {"name": name, "text": text, "type": type, "types": TYPES, "obstacles": obstacles}
    return visit.show("schema_check.html", **values)


async def writing(visit: Visit) -> Response:
    values: dict[str, Any] = {"name": "", "text": "", "type": "AVRO", "types": TYPES, "obstacles": None}
    return visit.show("schema_check.html", **values)


async def delete(visit: Visit) -> Response:
    """Softly: ids stay, and records that were written with it can be read."""
    name = visit.given("name")
    visit.require_typed(name)
    version = visit.given("version")
    gone = await ask(visit, lambda client: client.delete(name, int(version) if version.isdecimal() else None))
    return visit.go("/schemas", f"versions {', '.join(map(str, gone))} of {name} are deleted")


PAGE: Final = Page(
    "schemas",
    "Schemas",
    "/schemas",
    "s",
    {"/schemas": subjects, "/schemas/view": subject, "/schemas/check": writing},
    {"/schemas/check": check, "/schemas/delete": delete},
)
