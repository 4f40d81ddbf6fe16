"""Registries as processes of their own, and what is asked of them."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.ports import free_base_port

HOST = "127.0.0.1"
TIMEOUT_S = 30.0


class Answer(NamedTuple):
    status: int
    body: Any

    @property
    def code(self) -> int:
        return int(self.body["error_code"])


class Rest:
    """One registry's REST API."""

    def __init__(self, port: int, headers: dict[str, str] | None = None) -> None:
        self.port = port
        self._headers = {"content-type": "application/vnd.schemaregistry.v1+json"} | (headers or {})

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=TIMEOUT_S)
        try:
            data = None if body is None else body if isinstance(body, bytes) else json.dumps(body)
            connection.request(method, path, data, self._headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        is_json = "json" in (answer.getheader("content-type") or "")
        return Answer(answer.status, json.loads(text) if is_json and text else text.decode())

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def delete(self, path: str) -> Answer:
        return self.ask("DELETE", path)

    def put(self, path: str, **body: object) -> Answer:
        return self.ask("PUT", path, body)

    def post(self, path: str, schema: object, **more: object) -> Answer:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return self.ask("POST", path, {"schema": text, **more})

    def register(self, subject: str, schema: object, **more: object) -> Answer:
        return self.post(f"/subjects/{quote(subject, safe='')}/versions", schema, **more)


class Running(NamedTuple):
    rest: Rest
    process: subprocess.Popen[str]


@contextmanager
def registry(bootstrap: str, *options: str, port: int | None = None) -> Iterator[Running]:
    """A registry that serves."""
    port = port or free_base_port()
    words = [sys.executable, "-m", "penstock.cli.main", "registry", "-b", bootstrap, "--port", str(port), *options]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        heard = []
        for line in process.stderr:
            heard.append(line)
            if line.startswith("registry: "):
                break
        else:
            raise AssertionError("".join(heard))
        try:
            yield Running(Rest(port), process)
        finally:
            process.terminate()
            process.communicate(timeout=TIMEOUT_S)


def record(name: str, *fields: Any) -> dict[str, Any]:
    """An Avro record; a field is a name of an int, or all of it."""
    written = [{"name": each, "type": "int"} if isinstance(each, str) else each for each in fields]
    return {"type": "record", "name": name, "fields": written}


def optional(name: str) -> dict[str, Any]:
    return {"name": name, "type": "int", "default": 0}
