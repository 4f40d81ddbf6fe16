"""Commands on the folder of a stopped node whose files are sealed: they open them with the keys of its settings."""

import json
import os
from pathlib import Path

import pytest

from penstock.client.blocking import Client
from penstock.client.users import users
from penstock.testing import Broker
from tests.cli.running import Result, Shell
from tests.sealing.test_sealed_node import FILE, PERSON, VALUE, found_in, key_line, values

pytestmark = pytest.mark.client


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A node's folder, and its settings beside."""
    keys = tmp_path / "keys"
    keys.write_text(key_line("k1"))
    keys.chmod(0o600)
    (tmp_path / "server.properties").write_text(
        f"process.roles=broker,controller\nnode.id=1\nlog.dirs={tmp_path}/data\n{FILE}={keys}\n"
        "controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\n"
    )
    with Broker({FILE: str(keys)}, folder=tmp_path / "data") as broker:
        broker.create_topic("people")
        for number in range(20):
            broker.produce("people", VALUE + b"%d" % number)
    return tmp_path


class Storage:
    """`penstock storage`, about that node."""

    def __init__(self, shell: Shell, home: Path) -> None:
        self._shell = shell
        self._home = home

    def __call__(self, *words: str) -> Result:
        return self._shell("storage", *words, "--config", self._home / "server.properties")


@pytest.fixture
def storage(shell: Shell, home: Path) -> Storage:
    return Storage(shell, home)


def facts(ran: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def test_dump_and_verify_open_with_the_keys_of_the_settings(home: Path, storage: Storage) -> None:
    dumped = facts(storage("dump", "people-0", "--show", "records", "-o", "json"))
    assert [each["value"] for each in dumped] == [(VALUE + b"%d" % number).decode() for number in range(20)]
    assert storage("dump", "__cluster_metadata-0", "-o", "json").code == 0
    (home / "keys").write_text(key_line("k2"))
    for command in ("dump", "verify"):
        refused = storage(command)
        assert refused.code == 1
        assert "encrypted under keys that are missing: k1" in refused.err


def test_damage_is_found_and_taken_out(home: Path, storage: Storage) -> None:
    path = home / "data" / "people-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    verified = storage("verify", "people-0", "-o", "json")
    assert verified.code == 1
    (found,) = json.loads(verified.out)
    assert found["damaged"] == 1
    assert storage("repair", "people-0", "--yes").code == 0
    assert storage("verify").code == 0
    assert found_in(home / "data", VALUE) == []
    with Broker({FILE: str(home / "keys")}, folder=home / "data") as broker:
        assert len(values(broker, "people")) == 19


def test_keys_are_listed_replaced_and_taken_away(home: Path, storage: Storage) -> None:
    def by_key() -> dict[str, int]:
        return {each["key"]: each["files"] for each in json.loads(storage("keys", "-o", "json").out)}

    files = by_key()["k1"]
    assert by_key() == {"k1": files}
    (home / "keys").write_text(key_line("k1") + key_line("k2"))
    sealed = storage("rekey")
    assert f"{files} files written anew under the key k2" in sealed.err
    (home / "keys").write_text(key_line("k2"))
    assert by_key() == {"k2": files}
    with Broker({FILE: str(home / "keys")}, folder=home / "data") as broker:
        assert values(broker, "people") == [VALUE + b"%d" % number for number in range(20)]
    assert storage("rekey", "--plain").code == 0
    assert set(by_key()) == {"none"}
    assert found_in(home / "data", VALUE)
    with Broker(folder=home / "data") as broker:
        assert values(broker, "people") == [VALUE + b"%d" % number for number in range(20)]
    assert not [name for name in os.listdir(home / "data") if name.endswith("sealed")]


def test_users_are_sealed_from_the_first_byte_on(shell: Shell, home: Path) -> None:
    config = home / "other.properties"
    config.write_text((home / "server.properties").read_text().replace("/data", "/other"))
    scram = f"SCRAM-SHA-256=[name={PERSON.decode()},password=p]"
    done = shell("storage", "format", "--config", config, "--standalone", "--add-scram", scram)
    assert done.code == 0, done.err
    assert found_in(home / "other", PERSON) == []
    assert any("bootstrap.checkpoint" in path for path, _ in found_in(home / "other", b"PENSEAL1"))
    with Broker({FILE: str(home / "keys")}, folder=home / "other") as broker, Client(broker.bootstrap) as client:
        assert list(users(client)) == [PERSON.decode()]
    assert found_in(home / "other", PERSON) == []


def test_an_import_seals_what_it_takes(shell: Shell, home: Path, storage: Storage) -> None:
    config = home / "other.properties"
    config.write_text((home / "server.properties").read_text().replace("/data", "/other"))
    refused = shell("storage", "import", "--kafka-log-dir", home / "data", "--config", config)
    assert refused.code == 1
    assert "encrypted" in refused.err
    assert storage("rekey", "--plain").code == 0
    assert found_in(home / "data", VALUE)
    linked = shell("storage", "import", "--kafka-log-dir", home / "data", "--config", config, "--link")
    assert "is not encrypted" in linked.err
    done = shell("storage", "import", "--kafka-log-dir", home / "data", "--config", config)
    assert done.code == 0, done.err
    assert found_in(home / "other", VALUE) == []
    with Broker({FILE: str(home / "keys")}, folder=home / "other") as broker:
        assert values(broker, "people") == [VALUE + b"%d" % number for number in range(20)]
