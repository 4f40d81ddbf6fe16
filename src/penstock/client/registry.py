"""A client of a schema registry, Confluent's or ours: JSON over HTTP, asked elsewhere when one does not answer."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

from penstock.client.errors import ClientError

TIMEOUT_SECONDS: Final = 15.0
MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
SUBJECT_NOT_FOUND, VERSION_NOT_FOUND, SCHEMA_NOT_FOUND = 40401, 40402, 40403
COMPATIBILITY_NOT_FOUND: Final = 40408


class Refusal(ClientError):
    """What the registry answers instead."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number = number


class Registered(NamedTuple):
    """A version of a subject, with what it refers to by name."""

    subject: str
    version: int
    id: int
    type: str
    text: str
    references: tuple[dict[str, Any], ...] = ()


class RegistryClient:
    """For one thread. Several addresses stand with commas between them."""

    def __init__(self, urls: str, *, timeout: float = TIMEOUT_SECONDS, ca: str | None = None) -> None:
        """A name and a password may stand in an address: http://NAME:PASSWORD@HOST:PORT. `ca` is a file (PEM) of those
        whose certificates are trusted, instead of the system's."""
        self._ca = ca
        self._urls = [urlsplit(each.strip() if "://" in each else f"http://{each.strip()}") for each in urls.split(",")]
        for url in self._urls:
            if url.scheme not in ("http", "https") or not url.hostname:
                raise ClientError(f"{url.geturl()!r} is no address of a registry", hint="such as http://127.0.0.1:8081")
        self._timeout = timeout
        self._texts: dict[int | str, Registered] = {}

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        failure = ClientError("no registry was asked")
        for url in self._urls:
            try:
                status, text = self._ask(url, method, path, body)
            except (OSError, http.client.HTTPException) as problem:
                failure = ClientError(
                    f"no registry answers at {url.scheme}://{url.hostname}:{url.port} ({problem})",
                    hint="start one with `penstock registry`, or name another with --registry",
                )
                continue
            if status >= 400:
                raise _refusal(status, text)
            return json.loads(text) if text else None
        raise failure

    def _ask(self, url: Any, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        headers = {"content-type": MEDIA_TYPE, "accept": MEDIA_TYPE}
        if url.username is not None:
            login = base64.b64encode(f"{url.username}:{url.password or ''}".encode()).decode()
            headers["authorization"] = f"Basic {login}"
        connection = self._connection(url)
        try:
            connection.request(method, url.path.rstrip("/") + path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _connection(self, url: Any) -> http.client.HTTPConnection:
        if url.scheme == "http":
            return http.client.HTTPConnection(url.hostname, url.port, timeout=self._timeout)
        context = ssl.create_default_context(cafile=self._ca)
        return http.client.HTTPSConnection(url.hostname, url.port, timeout=self._timeout, context=context)

    def subjects(self, deleted: bool = False) -> list[str]:
        found: list[str] = self.ask("GET", f"/subjects{'?deleted=true' if deleted else ''}")
        return found

    def versions(self, subject: str, deleted: bool = False) -> list[int]:
        found: list[int] = self.ask("GET", f"{_of(subject)}/versions{'?deleted=true' if deleted else ''}")
        return found

    def version(self, subject: str, version: int | str = "latest") -> Registered:
        return _registered(self.ask("GET", f"{_of(subject)}/versions/{version}"))

    def register(self, subject: str, type: str, text: str, references: list[dict[str, Any]] | None = None) -> int:
        answer = self.ask("POST", f"{_of(subject)}/versions", _body(type, text, references))
        return int(answer["id"])

    def obstacles(
        self, subject: str, type: str, text: str, references: list[dict[str, Any]] | None = None
    ) -> list[str]:
        """What keeps a schema from being registered there; nothing if it may be."""
        path = f"/compatibility{_of(subject)}/versions?verbose=true"
        answer = self.ask("POST", path, _body(type, text, references))
        return [] if answer["is_compatible"] else list(answer.get("messages") or ["it is not compatible"])

    def delete(self, subject: str, version: int | None = None, permanent: bool = False) -> list[int]:
        place = _of(subject) if version is None else f"{_of(subject)}/versions/{version}"
        found = self.ask("DELETE", f"{place}{'?permanent=true' if permanent else ''}")
        return found if isinstance(found, list) else [found]

    def by_id(self, id: int | str) -> Registered:
        """By an id, or a GUID. Remembered: both mean the same for ever."""
        if id not in self._texts:
            kind, number = ("ids", id) if isinstance(id, int) else ("guids", 0)
            found = self.ask("GET", f"/schemas/{kind}/{quote(str(id), safe='')}")
            self._texts[id] = _registered({"subject": "", "version": 0, "id": number} | found)
        return self._texts[id]

    def by_guid(self, guid: str) -> Registered:
        """By the name that a schema has in every registry."""
        return _registered({"subject": "", "version": 0, "id": 0} | self.ask("GET", f"/schemas/guids/{guid}"))

    def referred(self, schema: Registered) -> list[tuple[str, str]]:
        """Names and texts of what a schema refers to, and what that does, before what needs it."""
        found: dict[str, str] = {}
        self._collect(schema, found, 0)
        return list(found.items())

    def _collect(self, schema: Registered, found: dict[str, str], depth: int) -> None:
        if depth > 100:
            raise ClientError(f"the references of {schema.subject or schema.id} never end")
        for each in schema.references:
            if each["name"] not in found:
                target = self.version(each["subject"], each["version"])
                self._collect(target, found, depth + 1)
                found[each["name"]] = target.text


def _of(subject: str) -> str:
    return f"/subjects/{quote(subject, safe='')}"


def _body(type: str, text: str, references: list[dict[str, Any]] | None) -> dict[str, Any]:
    return {"schema": text, "schemaType": type} | ({"references": references} if references else {})


def _registered(facts: dict[str, Any]) -> Registered:
    references = tuple(facts.get("references") or ())
    kind = facts.get("schemaType") or "AVRO"
    return Registered(facts["subject"], facts["version"], facts["id"], kind, facts["schema"], references)


def _refusal(status: int, text: bytes) -> Refusal:
    try:
        found = json.loads(text)
        return Refusal(int(found["error_code"]), str(found["message"]))
    except (ValueError, TypeError, KeyError):
        return Refusal(status, f"the registry answers {status}: {text[:200].decode(errors='replace')}")
