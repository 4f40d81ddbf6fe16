"""What a page is made of, and what its functions are given.

A page is one module with one `PAGE`: where it is, what it shows (`views`, by path) and what it does (`actions`, by
path). A view answers GET and changes nothing. An action answers POST; it is refused to whoever may only read, asks for
the token of the session, and is written into the trail. `pages.py` names all pages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from penstock.client.blocking import Client
from penstock.client.metadata import TopicView
from penstock.services.console.cluster import ASK_SECONDS_MAX, CHANGE_SECONDS_MAX, Cluster, Picture
from penstock.services.console.jobs import Jobs
from penstock.services.console.mistakes import Mistake
from penstock.services.console.rendering import Templates
from penstock.services.console.sampling import Sampler
from penstock.services.console.sessions import Session
from penstock.services.console.trail import Trail

NUMBER_DIGITS_MAX: Final = 19
T = TypeVar("T")


@dataclass(slots=True)
class Visit:
    """One request of somebody who was let in."""

    request: Request
    session: Session
    page: str
    templates: Templates
    trail: Trail
    jobs: Jobs
    facts: Mapping[str, Any]
    """What the console was started with, for pages that show it or need it."""
    form: dict[str, str] = field(default_factory=dict)

    @property
    def cluster(self) -> Cluster:
        return self.session.cluster

    @property
    def sampler(self) -> Sampler:
        return self.session.sampler

    @property
    def may_change(self) -> bool:
        return not self.session.is_read_only

    async def ask(self, do: Callable[[Client], T], seconds: float | None = None) -> T:
        """What changes something is given longer: whether it happened must be known."""
        usual = ASK_SECONDS_MAX if self.request.method == "GET" else CHANGE_SECONDS_MAX
        return await self.cluster.ask(do, usual if seconds is None else seconds)

    async def picture(self) -> Picture:
        return await self.cluster.picture()

    async def topic(self) -> TopicView:
        """The one that the path names."""
        name = self.request.path_params["topic"]
        found = (await self.picture()).topics.get(name)
        # It may be younger than the picture.
        return found if found is not None else await self.ask(lambda client: client.topic(name, fresh=True))

    def asked(self, name: str, default: str = "") -> str:
        """A part of the query."""
        return self.request.query_params.get(name, default).strip()

    def number(self, name: str, default: int, least: int = 0) -> int:
        return whole(self.asked(name) or str(default), name, least)

    def given(self, name: str, default: str = "") -> str:
        """A field of the form."""
        return self.form.get(name, default)

    def given_number(self, name: str, least: int = 0) -> int:
        return whole(self.given(name), name, least)

    def require_typed(self, name: str) -> None:
        """What destroys is asked for by name."""
        if self.given("confirm").strip() != name:
            raise Mistake(f"nothing was done: {name} was not typed", f"type {name} to confirm")

    def show(self, template: str, /, status: int = 200, **values: Any) -> Response:
        said, self.session.said = self.session.said, None
        text = self.templates.render(template, visit=self, said=said, **values)
        return HTMLResponse(text, status)

    def either(self, name: str, /, **values: Any) -> Response:
        """The page, or only what changes in it where that is asked for: its `_part`."""
        if not self.wants_part:
            return self.show(f"{name}.html", **values)
        return HTMLResponse(self.templates.render(f"{name}_part.html", visit=self, said=None, **values))

    @property
    def wants_part(self) -> bool:
        return self.request.headers.get("hx-request") == "true"

    def note(self, action: str, fields: Mapping[str, str], outcome: str) -> None:
        """Of what is looked at, what takes much away with it is written down, too."""
        self.trail.note(self.session.user, self.host, action, fields, outcome)

    @property
    def host(self) -> str:
        return self.request.client.host if self.request.client else ""

    def go(self, path: str, said: str | None = None, **query: str) -> Response:
        """After an action: another page, which tells of it."""
        self.session.said = said
        return RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)


View = Callable[[Visit], Awaitable[Response]]


class Page(NamedTuple):
    """`key` goes there when it is typed after `g`."""

    name: str
    title: str
    path: str
    key: str
    views: Mapping[str, View]
    actions: Mapping[str, View] = {}


def whole(text: str, name: str, least: int = 0) -> int:
    text = text.strip()
    digits = text.removeprefix("-")
    if not digits.isdecimal() or len(digits) > NUMBER_DIGITS_MAX or int(text) < least:
        raise Mistake(f"{name}: {text[:40]!r} is no whole number of at least {least}")
    return int(text)
