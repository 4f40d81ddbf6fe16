"""A console that `penstock up` starts beside a secure cluster: HTTPS, the cluster's users, and their own rights."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.cli.running import command, run_process
from tests.console.world import Seen, Site
from tests.ports import free_base_port

HOST = "127.0.0.1"
TIMEOUT_S = 60.0
pytestmark = pytest.mark.slow


class Secure(NamedTuple):
    folder: Path
    url: str

    @property
    def config(self) -> Path:
        return self.folder / "security" / "client.properties"

    def run(self, *words: str, input: str = "") -> None:
        done = run_process(*words, "--command-config", self.config, input=input)
        assert done.returncode == 0, done.stderr

    @contextmanager
    def browser(self, user: str | None = None, password: str = "") -> Iterator[Site]:
        context = ssl.create_default_context(cafile=str(self.folder / "security" / "ca.pem"))
        with httpx.Client(base_url=self.url, verify=context, follow_redirects=True, timeout=TIMEOUT_S) as client:
            if user is not None:
                assert login(client, user, password).status == 200
            yield Site(client)

    @property
    def admin_password(self) -> str:
        lines = self.config.read_text().splitlines()
        return next(line.partition("=")[2] for line in lines if line.startswith("sasl.password="))


def login(client: httpx.Client, user: str, password: str, wanted: str = "/topics") -> Seen:
    return Seen(client.post("/login", data={"user": user, "password": password, "next": wanted}))


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    folder, port = tmp_path_factory.mktemp("secure") / "data", free_base_port()
    words = (
        "up",
        "--port",
        str(port),
        "--registry-port",
        str(port + 2),
        "--console-port",
        str(port + 1),
        "--secure",
        "--output",
        "json",
    )
    with subprocess.Popen(
        command(*words, "--data-dir", folder), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        facts = json.loads(process.stdout.readline())
        assert facts["console"] == f"https://{HOST}:{port + 1}"
        try:
            place = Secure(folder, facts["console"])
            place.run("user", "add", "ann", input="secret\n")
            yield place
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=TIMEOUT_S)


def test_each_user_sees_and_does_what_the_cluster_lets_him(secure: Secure) -> None:
    secure.run("acl", "add", "--principal", "ann", "--operation", "describe", "--topic", "orders")
    with secure.browser("admin", secure.admin_password) as admin:
        for name in ("orders", "salaries"):
            assert f"topic {name} was made" in admin.post("/topics-create", name=name).text
        assert "Nothing needs attention" in admin.get("/").text
    with secure.browser("ann", "secret") as ann:
        seen = ann.get("/topics").text
        assert "orders" in seen
        assert "salaries" not in seen
        assert ann.get("/").status == 200, "what she may not see is left out"
        refused = ann.post("/topics/orders/delete", confirm="orders")
        assert refused.status == 403
        assert "TOPIC_AUTHORIZATION_FAILED" in refused.text


def test_the_registry_is_asked_as_the_user(secure: Secure) -> None:
    with secure.browser("admin", secure.admin_password) as admin:
        form = {"name": "orders-value", "type": "AVRO", "text": '"string"', "save": "1"}
        assert "saved with the id" in admin.post("/schemas/check", **form).text
        assert "orders-value" in admin.get("/schemas").text
    with secure.browser("ann", "secret") as ann:
        assert "orders-value" not in ann.get("/schemas").text


def test_nobody_else_gets_in(secure: Secure) -> None:
    with secure.browser() as browser:
        first = browser.get("/topics?q=x")
        assert str(first.answer.url).endswith("/login?next=%2Ftopics%3Fq%3Dx")
        assert browser.get("/", headers={"hx-request": "true"}).answer.headers["hx-redirect"] == "/login"
        wrong = login(browser.client, "admin", "wrong")
        assert wrong.status == 401
        assert "do not belong together" in wrong.text
        assert login(browser.client, "nobody", "x").status == 401
        for _ in range(6):
            last = login(browser.client, "somebody", "x")
        assert last.status == 429, "who guesses has to wait"


def test_a_session_ends(secure: Secure) -> None:
    with secure.browser("admin", secure.admin_password) as browser:
        cookie = next(iter(browser.client.cookies.jar))
        assert cookie.secure
        assert browser.get("/topics").text.startswith("Topics")
        token = browser.token()
        browser.client.post("/logout", data={"csrf": "wrong"})
        browser.client.cookies.set(cookie.name, str(cookie.value))
        assert browser.get("/topics").text.startswith("Topics"), "nobody else logs one out"
        browser.client.post("/logout", data={"csrf": token})
        browser.client.cookies.set(cookie.name, str(cookie.value))
        assert browser.get("/topics").text.startswith("Log in"), "the session is over, whoever has its cookie"
