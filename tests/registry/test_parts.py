"""Parts of a registry without a cluster: who is chosen, who is let in, and what is served while it reads anew."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from penstock.client.blocking import Client
from penstock.core.records.record import Record
from penstock.services.registry.access import Passwords, guarded_as
from penstock.services.registry.electing import Identity, choose, identity_of
from penstock.services.registry.errors import RestError
from penstock.services.registry.registry import Registry, Settings
from penstock.services.registry.users import file_check
from tests.schema_topic.records import schema

OWN = Identity("http", "127.0.0.1", 8081)


def test_who_writes_is_the_one_that_does_so_already_or_the_first() -> None:
    members = [(f"m{port}", Identity("http", "h", port).members(False)) for port in (3, 1, 2)]
    assert (chosen := choose(members)) is not None
    assert chosen[0] == "m1"
    members[2] = ("m2", Identity("http", "h", 2).members(True))
    assert (chosen := choose(members)) is not None
    assert chosen[0] == "m2"
    members[0] = ("m3", Identity("http", "h", 3).members(True))
    assert (chosen := choose(members)) is not None
    assert chosen[0] == "m1", "two that say so are none"
    assert choose([("m", {"master_eligibility": False, "host": "h", "port": 1}), ("n", {})]) is None


def test_an_identity_as_confluents_registries_write_it() -> None:
    assert identity_of({"version": 1, "host": "h", "port": 8081, "master_eligibility": True}) == Identity(
        "http", "h", 8081
    )
    assert identity_of(OWN.members(True)) == OWN
    assert identity_of({"host": 5}) is None
    assert Identity("http", "::1", 80).url == "http://[::1]:80"


def test_users_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text(f"# who\nann: plain, admin\nbob: sha256:{hashlib.sha256(b'hashed').hexdigest()}\n")
    check = file_check(str(path))
    assert check("ann", "plain")
    assert check("bob", "hashed")
    assert not check("ann", "hashed")
    assert not check("eve", "")


def test_a_password_is_asked_about_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def check(name: str, password: str) -> bool:
        asked.append(name)
        return password == "right"

    async def run() -> None:
        passwords = Passwords(check)
        assert [await passwords.user_of("Basic YW5uOnJpZ2h0") for _ in range(3)] == ["ann"] * 3
        for header in ("", "Bearer x", "Basic !", "Basic YW5uOndyb25n"):
            with pytest.raises(RestError, match="Unauthorized"):
                await passwords.user_of(header)

    asyncio.run(run())
    assert asked == ["ann", "ann"]


def test_a_subject_is_guarded_like_its_topic() -> None:
    assert [guarded_as(each) for each in ("orders-value", ":.c:orders-key", "x.Order")] == [
        "orders",
        "orders",
        "x.Order",
    ]


def test_what_was_known_is_served_while_it_is_read_anew() -> None:
    """The topic's broker was away for a while; nobody is told that a schema does not exist."""

    def connect() -> Client:
        raise AssertionError("nobody is asked here")

    def record(offset: int, number: int) -> Record:
        key, value = schema("s", number, number, f'"{number}"')
        return Record(offset, 0, key, value, ())

    async def run() -> None:
        registry = Registry(Settings(connect, OWN))

        def read_again(*records: Record) -> None:
            registry._begin()
            registry._take(list(records), len(records))

        await asyncio.to_thread(read_again, record(0, 1))
        assert registry.table.by_id(1) is None
        await asyncio.to_thread(registry._on_loaded)
        assert registry.table.by_id(1) is not None
        await asyncio.to_thread(read_again, record(0, 2))
        assert registry.table.by_id(1) is not None
        assert registry.table.by_id(2) is None
        await asyncio.to_thread(registry._on_loaded)
        assert registry.table.by_id(2) is not None
        await asyncio.to_thread(registry._take, [record(1, 3)], 2)
        assert registry.table.by_id(3) is not None
        assert registry.last_offset == 1

    asyncio.run(run())
