"""Before any page: whom a browser talks to, what pages may do, who may change something, and what is written down."""

from __future__ import annotations

import json
import logging

import pytest

from penstock.services.console.app import inside
from penstock.services.console.pages import PAGES
from penstock.testing.broker import Broker
from tests.console.world import Site, site


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::1", "evil.example:8080"])
def test_another_name_is_no_name_of_ours(console: Site, host: str) -> None:
    answer = console.get("/", headers={"host": host})
    assert answer.status == 403
    assert "--advertised-host" in answer.html


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST:99", "127.0.0.1:8080"])
def test_our_own_names_do(console: Site, host: str) -> None:
    assert console.get("/", headers={"host": host}).status == 200


def test_pages_may_run_and_fetch_only_what_is_ours(console: Site) -> None:
    headers = console.get("/").answer.headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    cookie = headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_every_page_is_there_and_names_only_our_own_files(console: Site) -> None:
    for page in PAGES:
        seen = console.get(page.path)
        # Nobody has named a registry here.
        assert seen.status == (404 if page.name == "schemas" else 200), (page.path, seen.text)
        assert "http://" not in seen.html.replace("http://127.0.0.1", "")
        assert "style=" not in seen.html, "the policy forbids it"
        for link in seen.links:
            if link.startswith("/static/"):
                assert console.get(link).answer.headers["cache-control"].startswith("public")


def test_a_form_needs_the_token_of_its_session(console: Site) -> None:
    for csrf in ("", "x"):
        refused = console.post("/topics-create", csrf=csrf, name="never")
        assert refused.status == 403
    assert "never" not in console.get("/topics?q=never").text.replace("No topic has such a name", "")


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_form_of_elsewhere_is_refused(console: Site, headers: dict[str, str]) -> None:
    refused = console.post("/topics-create", sent=headers, name="elsewhere")
    assert (refused.status, refused.html) == (403, "this form came from elsewhere\n")


def test_who_may_only_look_changes_nothing(console_broker: Broker) -> None:
    with site(console_broker.bootstrap, is_read_only=True) as read_only:
        assert "read-only" in read_only.get("/topics").text
        assert "Create a topic" not in read_only.get("/topics").text
        refused = read_only.post("/topics-create", name="refused")
        assert refused.status == 403
        assert "you may only look" in refused.text
        assert "refused" not in {topic for topic in read_only.get("/topics?q=refused").links if "topics/" in topic}


def test_every_action_is_written_down(console: Site, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock.console.audit"):
        console.post("/topics-create", name="written.down", partitions="0x1")
        console.post("/topics-create", name="written.down", partitions="2")
    first, second = [json.loads(each.message) for each in caplog.records if each.name == "penstock.console.audit"]
    assert first["action"] == "/topics-create"
    assert "no whole number" in first["outcome"]
    assert (second["user"], second["outcome"]) == ("ANONYMOUS", "done")
    assert second["fields"] == {"name": "written.down", "partitions": "2"}, "and no token"


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "", "/\n/x"])
def test_what_leads_elsewhere_leads_to_the_first_page(path: str) -> None:
    assert inside(path) == "/"


def test_what_leads_inside_is_kept() -> None:
    assert inside("/topics/a.b-c?page=2&q=x") == "/topics/a.b-c?page=2&q=x"


def test_a_form_has_bounds(console: Site) -> None:
    assert console.post("/topics-create", name="x" * (3 << 20)).status == 413


def test_what_is_not_there(console: Site) -> None:
    assert console.get("/nowhere").status == 404
    missing = console.get("/topics/missing")
    assert missing.status == 404
    assert "UNKNOWN_TOPIC_OR_PARTITION" in missing.text
