"""A registry that `penstock up` starts beside a secure cluster: HTTPS, the cluster's users, and its access rules."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.running import command, run_process
from tests.ports import free_base_port
from tests.registry.world import Answer

pytestmark = pytest.mark.slow
HOST = "127.0.0.1"
TIMEOUT_S = 60.0


class Secure(NamedTuple):
    folder: Path
    port: int

    def ask(self, method: str, path: str, login: str | None = None, schema: str | None = None) -> Answer:
        context = ssl.create_default_context(cafile=str(self.folder / "security" / "ca.pem"))
        headers = {"content-type": "application/json"}
        if login is not None:
            headers["authorization"] = f"Basic {b64encode(login.encode()).decode()}"
        connection = HTTPSConnection(HOST, self.port, context=context, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, None if schema is None else json.dumps({"schema": schema}), headers)
            answer = connection.getresponse()
            return Answer(answer.status, json.loads(answer.read()))
        finally:
            connection.close()

    def run(self, *words: str, input: str = "") -> None:
        done = run_process(*words, "--command-config", self.folder / "security" / "client.properties", input=input)
        assert done.returncode == 0, done.stderr

    @property
    def admin(self) -> str:
        lines = (self.folder / "security" / "client.properties").read_text().splitlines()
        password = next(line.partition("=")[2] for line in lines if line.startswith("sasl.password="))
        return f"admin:{password}"


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    folder, port = tmp_path_factory.mktemp("secure") / "data", free_base_port()
    words = ("up", "--port", str(port), "--registry-port", str(port + 1), "--secure", "--output", "json")
    with subprocess.Popen(
        command(*words, "--data-dir", folder), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["registry"] == f"https://{HOST}:{port + 1}"
        try:
            yield Secure(folder, port + 1)
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=TIMEOUT_S)


def test_who_may_do_what(secure: Secure) -> None:
    secure.run("user", "add", "ann", input="secret\n")
    for operation in ("read", "describe-configs"):
        secure.run("acl", "add", "--principal", "ann", "--operation", operation, "--topic", "orders")
    assert secure.ask("GET", "/subjects").code == 401
    assert secure.ask("GET", "/subjects", "ann:wrong").code == 401
    assert secure.ask("GET", "/subjects", "nobody:secret").code == 401
    for subject in ("orders-value", "other-value"):
        assert secure.ask(
            "POST", f"/subjects/{subject}/versions", secure.admin, f'"{"int" if subject < "p" else "long"}"'
        )
    assert secure.ask("GET", "/subjects", secure.admin).body == ["orders-value", "other-value"]
    assert secure.ask("GET", "/subjects", "ann:secret").body == ["orders-value"]
    assert secure.ask("GET", "/subjects/orders-value/versions/1", "ann:secret").status == 200
    assert secure.ask("GET", "/subjects/other-value/versions/1", "ann:secret").code == 40301
    assert secure.ask("GET", "/schemas/ids/1", "ann:secret").status == 200
    assert secure.ask("GET", "/schemas/ids/2", "ann:secret").code == 40403
    assert secure.ask("GET", "/config/orders-value?defaultToGlobal=true", "ann:secret").status == 200
    assert secure.ask("GET", "/config", "ann:secret").code == 40301
    assert secure.ask("POST", "/subjects/orders-value/versions", "ann:secret", '"string"').code == 40301
    assert secure.ask("DELETE", "/subjects/orders-value", "ann:secret").code == 40301


def test_a_port_that_is_busy_is_named_and_another_one_offered(secure: Secure, tmp_path: Path) -> None:
    done = run_process("up", "--port", "0", "--registry-port", str(secure.port), "--data-dir", tmp_path / "data")
    assert done.returncode == 1
    assert f"port {secure.port} on {HOST} is busy" in done.stderr
    assert "is free: --registry-port" in done.stderr
    alone = run_process("registry", "--port", str(secure.port))
    assert "is free: --port" in alone.stderr
