"""A console over HTTP, without a browser: pages are fetched, links found in them, forms sent as a browser would."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any

import httpx
from starlette.testclient import TestClient

from penstock.services.console.app import Console, Settings
from penstock.services.console.logging_in import way_of

NAME = "127.0.0.1"
PARTS = {"hx-request": "true"}


class _Text(HTMLParser):
    """What a person reads, and the values of hidden fields."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.hidden: dict[str, str] = {}
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = dict(attrs)
        if tag == "input" and given.get("type") == "hidden":
            self.hidden[str(given["name"])] = given.get("value") or ""

    def handle_data(self, data: str) -> None:
        self.words += data.split()


class Seen:
    """An answer."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self.status = answer.status_code
        self.html = answer.text
        parsed = _Text()
        parsed.feed(self.html)
        self.text = " ".join(parsed.words)
        self.hidden = parsed.hidden
        self.tags = parsed.tags

    @property
    def links(self) -> list[str]:
        return [each.replace("&amp;", "&") for each in re.findall(r'href="(/[^"]*)"', self.html)]


class Site:
    """A console, and a browser's cookies."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def get(self, path: str, **options: Any) -> Seen:
        return Seen(self.client.get(path, **options))

    def post(self, path: str, *, csrf: str | None = None, sent: dict[str, str] | None = None, **form: str) -> Seen:
        """With the session's own token, unless another one is given; follows to the page that tells of it."""
        token = self.token() if csrf is None else csrf
        return Seen(self.client.post(path, data={"csrf": token, **form}, headers=sent))

    def token(self) -> str:
        """As it stands in every form."""
        return self.get("/topics-create").hidden.get("csrf", "")


@contextmanager
def site(bootstrap: str, settings: dict[str, str] | None = None, **more: Any) -> Iterator[Site]:
    """A console in this process."""
    console = Console(Settings(way_of(bootstrap, settings or {}), [NAME, "localhost"], **more))
    with TestClient(console.app(), base_url=f"http://{NAME}:8080") as client:
        yield Site(client)
