"""The HTTP side: pages and who may see them, in one Starlette application."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from penstock.client.errors import ClientError
from penstock.core.base.errors import ErrorCode
from penstock.core.peer.login import Identity
from penstock.services.console.cluster import Cluster, pause
from penstock.services.console.guard import Guard
from penstock.services.console.jobs import Jobs
from penstock.services.console.logging_in import Attempts, Way
from penstock.services.console.mistakes import Mistake, mistake_of
from penstock.services.console.page import Page, View, Visit
from penstock.services.console.pages import PAGES
from penstock.services.console.registry import place_for
from penstock.services.console.rendering import STATIC, Templates
from penstock.services.console.sampling import Sampler
from penstock.services.console.sessions import Session, Sessions
from penstock.services.console.trail import Trail

WORKERS_MAX: Final = 8
FORM_BYTES_MAX: Final = 2 << 20
FIELDS_MAX: Final = 1_000
SWEEP_SECONDS: Final = 30.0
log = logging.getLogger("penstock.console")


@dataclass(slots=True)
class Settings:
    """What a console was started with."""

    way: Way
    hosts: Collection[str]
    is_encrypted: bool = False
    is_read_only: bool = False
    viewers: Collection[str] = ()
    """Users who may only look."""
    cookie: str = "penstock_console"
    facts: Mapping[str, Any] = field(default_factory=dict)


class Console:
    """Everything that pages share."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._workers = ThreadPoolExecutor(WORKERS_MAX, "console")
        self._sessions = Sessions()
        self._sessions.on_end = self._ended
        self._attempts = Attempts()
        self._trail = Trail()
        self._jobs = Jobs()
        self._templates = Templates(pages=PAGES, asks=settings.way.asks)
        # Where nobody is asked who he is, all see the same.
        self._everybody = Cluster(settings.way.client, self._workers)
        self._everybodys_sampler = Sampler(self._everybody)

    def app(self) -> ASGIApp:
        routes: list[BaseRoute] = [
            Route("/login", self._login, methods=["GET", "POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
        for page in PAGES:
            routes += [Route(path, self._viewing(page, view)) for path, view in page.views.items()]
            routes += [
                Route(path, self._acting(page, path, action), methods=["POST"]) for path, action in page.actions.items()
            ]
        handlers = {HTTPException: self._nowhere, Exception: self._broken}
        app = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._living)  # type: ignore[arg-type]  # Handlers of Exception take one.
        return Guard(app, self._settings.hosts, self._settings.is_encrypted)

    @asynccontextmanager
    async def _living(self, _: Starlette) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(self._sweep())
        yield
        sweeping.cancel()
        for session in self._sessions.all():
            self._sessions.end(session)
        self._everybodys_sampler.stop()
        self._jobs.close()
        self._everybody.close()
        self._workers.shutdown(wait=False, cancel_futures=True)

    async def _sweep(self) -> None:
        while True:
            await pause(SWEEP_SECONDS)
            self._sessions.sweep()
            self._everybody.close_idle()
            for session in self._sessions.all():
                session.cluster.close_idle()

    def _ended(self, session: Session) -> None:
        if session.cluster is not self._everybody:
            session.sampler.stop()
            session.cluster.close()

    # Pages

    def _viewing(self, page: Page, view: View) -> Any:
        async def show(request: Request) -> Response:
            return await self._for(request, page, view)

        return show

    def _acting(self, page: Page, path: str, action: View) -> Any:
        async def act(request: Request) -> Response:
            async def noted(visit: Visit) -> Response:
                return await self._act(visit, path, action)

            return await self._for(request, page, noted)

        return act

    async def _for(self, request: Request, page: Page, view: View) -> Response:
        session = self._session(request)
        if session is None:
            return self._to_login(request)
        visit = Visit(request, session, page.name, self._templates, self._trail, self._jobs, self._settings.facts)
        try:
            answer = await view(visit)
        except ClientError as failure:
            if failure.code == ErrorCode.SASL_AUTHENTICATION_FAILED and session.user:
                # The password is another one by now.
                self._sessions.end(session)
                return self._to_login(request)
            answer = _failed(visit, mistake_of(failure))
        except Mistake as mistake:
            answer = _failed(visit, mistake)
        self._set_cookie(answer, session)
        return answer

    async def _act(self, visit: Visit, path: str, action: View) -> Response:
        """An action, with all that goes before and after it."""
        visit.form = await _form(visit.request)
        if visit.given("csrf") != visit.session.csrf:
            raise Mistake("this form is of another session", "go back, load the page again, and try again", 403)
        fields = {name: str(value) for name, value in visit.request.path_params.items()} | visit.form
        outcome = "done"
        try:
            if not visit.may_change:
                raise Mistake("you may only look", "ask whoever runs the console", 403)
            visit.cluster.forget()
            return await action(visit)
        except (ClientError, Mistake) as failure:
            outcome = str(failure)
            raise
        except Exception as failure:
            outcome = f"failed: {type(failure).__name__}"
            raise
        finally:
            visit.cluster.forget()
            visit.note(path, fields, outcome)

    # Who it is

    def _session(self, request: Request) -> Session | None:
        session = self._sessions.find(request.cookies.get(self._settings.cookie, ""))
        if session is None and not self._settings.way.asks:
            session = self._sessions.begin("", self._settings.is_read_only, self._everybody, self._everybodys_sampler)
            session.registry = self._settings.facts.get("registry")
        return session

    def _set_cookie(self, answer: Response, session: Session) -> None:
        answer.set_cookie(
            self._settings.cookie, session.id, httponly=True, samesite="lax", secure=self._settings.is_encrypted
        )

    def _to_login(self, request: Request) -> Response:
        if request.headers.get("hx-request") == "true":
            return Response(status_code=401, headers={"hx-redirect": "/login"})
        back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        wanted = f"?{urlencode({'next': back})}" if request.method == "GET" and back != "/" else ""
        return RedirectResponse(f"/login{wanted}", 303)

    async def _login(self, request: Request) -> Response:
        if not self._settings.way.asks:
            return RedirectResponse("/", 303)
        if request.method == "GET":
            return self._login_page(request.query_params.get("next", ""))
        host = request.client.host if request.client else ""
        form: dict[str, str] = {}
        name = ""
        try:
            form = await _form(request)
            name = form.get("user", "").strip()
            self._attempts.check(name, host)
            identity = await self._identity(name, form.get("password", ""))
            if identity is None:
                self._attempts.failed(name, host)
                raise Mistake("name and password do not belong together", None, 401)
        except (ClientError, Mistake) as failure:
            mistake = mistake_of(failure) if isinstance(failure, ClientError) else failure
            self._trail.note(name, host, "/login", {}, mistake.message)
            return self._login_page(form.get("next", ""), mistake)
        self._trail.note(name, host, "/login", {}, "done")
        answer = RedirectResponse(inside(form.get("next", "")), 303)
        self._set_cookie(answer, self._begin(identity))
        return answer

    async def _identity(self, name: str, password: str) -> Identity | None:
        if not name or not password:
            return None
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, self._settings.way.enter, name, password)

    def _begin(self, identity: Identity) -> Session:
        way = self._settings.way
        cluster = Cluster(lambda: way.client(identity), self._workers)
        is_read_only = self._settings.is_read_only or identity.user in self._settings.viewers
        session = self._sessions.begin(identity.user, is_read_only, cluster, Sampler(cluster))
        session.registry = place_for(self._settings.facts.get("registry"), identity.user, identity.password)
        return session

    def _login_page(self, wanted: str, mistake: Mistake | None = None) -> Response:
        text = self._templates.render("login.html", next=inside(wanted), mistake=mistake)
        return HTMLResponse(text, 200 if mistake is None else mistake.status)

    async def _logout(self, request: Request) -> Response:
        session = self._sessions.find(request.cookies.get(self._settings.cookie, ""))
        form = await _form(request)
        if session is not None and form.get("csrf") == session.csrf:
            self._sessions.end(session)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(self._settings.cookie)
        return answer

    # What goes wrong

    async def _nowhere(self, request: Request, failure: HTTPException) -> Response:
        if (session := self._session(request)) is None:
            return self._to_login(request)
        visit = Visit(request, session, "", self._templates, self._trail, self._jobs, self._settings.facts)
        return _failed(visit, Mistake("there is no such page", None, failure.status_code))

    async def _broken(self, _: Request, failure: Exception) -> Response:
        log.error("a page failed", exc_info=failure)
        return HTMLResponse(self._templates.render("broken.html"), 500)


def _failed(visit: Visit, mistake: Mistake) -> Response:
    if visit.wants_part:
        return visit.show("failed_part.html", mistake.status, mistake=mistake)
    return visit.show("failed.html", mistake.status, mistake=mistake)


async def _form(request: Request) -> dict[str, str]:
    """Fields by name; of those that are given more than once, the last."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > FORM_BYTES_MAX:
            raise Mistake("that is too much for a form", f"at most {FORM_BYTES_MAX >> 20} MiB", 413)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX))
    except ValueError:
        raise Mistake("this form cannot be read") from None


def inside(path: str) -> str:
    """A path of this console; whatever leads elsewhere leads to the first page."""
    is_inside = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return quote(path, safe="/?=&%+-_.~:,") if is_inside else "/"
