"""A node whose files are sealed: it keeps what it acknowledged, and its disk shows nothing of it."""

import os
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.client.users import set_password, users
from penstock.core.sealing.frames import HEAD_BYTES, PAGE_BYTES, open_frame, walk
from penstock.core.sealing.keys import file_secret, read_keys
from penstock.shell.aes_gcm import AesGcm
from penstock.shell.sealed_folder import heads_in
from penstock.testing import Broker, BrokerFailed
from tests.waiting import wait_until

pytestmark = pytest.mark.client

FILE, COMMAND = "penstock.encryption.keys.file", "penstock.encryption.keys.command"
PERSON, VALUE, GROUP, USER = b"anna.lindqvist@example.org", b"lives in Lund, Sweden", b"payroll-of-lund", b"anna-admin"


FAST: dict[str, object] = {"log.cleaner.backoff.ms": 100, "log.retention.check.interval.ms": 100}
COMPACTED: dict[str, object] = {
    "cleanup_policy": "compact",
    "min_cleanable_dirty_ratio": 0,
    "max_compaction_lag_ms": 200,
    "delete_retention_ms": 0,
    "file_delete_delay_ms": 0,
}


def key_line(name: str, seed: int = 0) -> str:
    return f"{name} {b64encode(bytes([seed or ord(name[-1])]) * 32).decode()}\n"


@pytest.fixture
def keys(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "keys"
    path.write_text(key_line("k1"))
    path.chmod(0o600)
    return path


def settings_of(keys: Path, **more: object) -> dict[str, object]:
    return {FILE: str(keys), "penstock.encryption.keys.refresh.ms": 100, **more}


def found_in(folder: Path, *texts: bytes) -> list[tuple[str, bytes]]:
    """In which files of a folder, names included, some bytes stand."""
    paths = [Path(parent, name) for parent, _, names in os.walk(folder) for name in names]
    return [
        (str(path.relative_to(folder)), text)
        for path in paths
        for text in texts
        if text in content(path) or text in os.fsencode(path.relative_to(folder))
    ]


def content(path: Path) -> bytes:
    """A node that runs may remove it just now."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def values(broker: Broker, topic: str) -> list[bytes | None]:
    return [record.value for record in broker.records(topic)]


def make_group(broker: Broker) -> None:
    with Client(broker.bootstrap) as client:
        Groups(client).commit(GROUP.decode(), {TopicPartition("people", 0): 1})
        set_password(client, USER.decode(), "secret of anna", ["SCRAM-SHA-256"])


def test_after_kill_9_all_is_there_and_nothing_of_it_on_the_disk(keys: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Broker(settings_of(keys), folder=folder, beside=True) as broker:
        broker.create_topic("people")
        broker.produce("people", VALUE, key=PERSON)
        broker.produce("people", *[b"%d " % number + VALUE * 20 for number in range(300)], key=PERSON)
        make_group(broker)
        broker.kill()
        assert found_in(folder, PERSON, VALUE, GROUP, USER) == []
        broker.start()
        assert values(broker, "people") == [VALUE, *(b"%d " % number + VALUE * 20 for number in range(300))]
        with Client(broker.bootstrap) as client:
            assert Groups(client).offsets(GROUP.decode()) == {TopicPartition("people", 0): 1}
            assert list(users(client)) == [USER.decode()]
        broker.produce("people", b"and on")
        broker.stop()
        assert found_in(folder, PERSON, VALUE, GROUP, USER) == []
        broker.start()
        assert values(broker, "people")[-1] == b"and on"


@pytest.mark.parametrize("cut_bytes", [1, 30, 700])
def test_what_a_kill_has_torn_is_cut_off_and_nothing_before_it(keys: Path, tmp_path: Path, cut_bytes: int) -> None:
    folder = tmp_path / "data"
    path = folder / "t-0" / f"{0:020d}.log"
    with Broker(settings_of(keys), folder=folder, beside=True) as broker:
        broker.create_topic("t")
        for number in range(50):
            broker.produce("t", b"%d" % number * 20)
        broker.kill()
        os.truncate(path, path.stat().st_size - cut_bytes)
        broker.start()
        found = values(broker, "t")
        assert 45 <= len(found) < 50
        assert found == [b"%d" % number * 20 for number in range(len(found))]
        broker.produce("t", b"and on")
        broker.stop()
        broker.start()
        assert values(broker, "t") == [*found, b"and on"]


@pytest.mark.parametrize("at", [100, -1])
def test_bit_rot_is_never_taken_for_a_torn_end(keys: Path, tmp_path: Path, at: int) -> None:
    """Even in the last frame: a kill leaves it cut short, but never another one of its length."""
    folder = tmp_path / "data"
    path = folder / "t-0" / f"{0:020d}.log"
    with Broker(settings_of(keys), folder=folder, beside=True) as broker:
        broker.create_topic("t")
        broker.create_topic("whole")
        for topic in ("t", "whole"):
            broker.produce(topic, *[b"value" * 50] * 5)
            broker.produce(topic, b"last")
        broker.kill()
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)
        broker.start()
        assert len(values(broker, "whole")) == 6
        assert "t-0 is offline: damaged in" in broker.talk()
        assert "nothing was cut" in broker.talk()
        broker.stop()
        assert path.read_bytes() == data


def test_it_is_the_keys_that_hide_it(tmp_path: Path) -> None:
    """The search finds what is there."""
    folder = tmp_path / "data"
    with Broker(folder=folder) as broker:
        broker.create_topic("people")
        broker.produce("people", VALUE, key=PERSON)
        make_group(broker)
    assert {text for _, text in found_in(folder, PERSON, VALUE, GROUP, USER)} == {PERSON, VALUE, GROUP, USER}


def test_a_new_key_seals_new_files_while_the_node_runs(keys: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Broker(settings_of(keys), folder=folder) as broker:
        broker.create_topic("old")
        broker.produce("old", VALUE)
        keys.write_text(key_line("k1") + key_line("k2"))
        wait_until(lambda: "encrypted under the key k2" in broker.talk(), what="the newer key")
        broker.create_topic("new")
        broker.produce("new", VALUE)
        broker.produce("old", b"more")
        by_topic = {Path(path).parent.name: head.key_id for path, head in heads_in(str(folder))}
        assert by_topic["old-0"] == "k1"
        assert by_topic["new-0"] == "k2"
        broker.stop()
        broker.start()
        assert values(broker, "old") == [VALUE, b"more"]
        assert values(broker, "new") == [VALUE]
        broker.stop()
        keys.write_text(key_line("k2"))
        with pytest.raises(BrokerFailed, match=r"encrypted under keys that are missing: k1 \(\d+ files\)"):
            broker.start()


def test_compaction_brings_what_it_rewrites_under_the_newest_key(keys: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Broker(settings_of(keys, **FAST), folder=folder) as broker:
        broker.create_topic("people", **COMPACTED)
        broker.produce("people", b"first", key=b"bo")
        keys.write_text(key_line("k1") + key_line("k2"))
        wait_until(lambda: "encrypted under the key k2" in broker.talk(), what="the newer key")

        def is_rewritten() -> bool:
            broker.produce("people", b"x", key=b"heartbeat")
            return {head.key_id for _, head in heads_in(str(folder / "people-0"))} == {"k2"}

        wait_until(is_rewritten, what="the end of the older key")
        assert b"first" in values(broker, "people")


def test_a_node_goes_on_with_its_keys_where_there_are_none_any_more(keys: Path, tmp_path: Path) -> None:
    with Broker(settings_of(keys), folder=tmp_path / "data") as broker:
        keys.write_text("no key\n")
        wait_until(lambda: "goes on with the keys it has" in broker.talk(), what="the complaint")
        # Of the same name, and another one: what is encrypted under it could not be told from the rest.
        keys.write_text(key_line("k1", 7) + key_line("k2"))
        broker.create_topic("t")
        broker.produce("t", VALUE)
        assert values(broker, "t") == [VALUE]


def test_a_missing_and_a_wrong_key_are_named_and_nothing_is_touched(keys: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Broker(settings_of(keys), folder=folder) as broker:
        broker.create_topic("t")
        broker.produce("t", VALUE)
    before = {path: path.read_bytes() for path in folder.rglob("*.log")}
    for text, complaint in (
        (key_line("k2"), "encrypted under keys that are missing: k1"),
        (key_line("k1", 7), "is encrypted under another key k1 than the one given"),
        ("", "there is no key in"),
    ):
        keys.write_text(text)
        with pytest.raises(BrokerFailed, match=complaint) as refused, Broker(settings_of(keys), folder=folder):
            pass
        assert "\n" not in str(refused.value)
    with pytest.raises(BrokerFailed, match="must give them"):
        Broker(folder=folder).start()
    assert {path: path.read_bytes() for path in folder.rglob("*.log")} == before
    keys.write_text(key_line("k1"))
    with Broker(settings_of(keys), folder=folder) as broker:
        assert values(broker, "t") == [VALUE]


def test_a_command_gives_keys(tmp_path: Path) -> None:
    program = tmp_path / "vault.sh"
    program.write_text(f"#!/bin/sh\necho '{key_line('k1').strip()}'\n")
    program.chmod(0o700)
    with Broker({COMMAND: f"{program} --path kv/penstock"}, folder=tmp_path / "data") as broker:
        broker.create_topic("t")
        broker.produce("t", VALUE)
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(BrokerFailed, match=r"vault.sh` ended with 3 and gave no keys"):
        Broker({COMMAND: f"{program} --secret"}, folder=tmp_path / "data").start()
    assert found_in(tmp_path / "data", VALUE) == []


def test_a_plain_folder_is_sealed_bit_by_bit_and_opened_without_keys_only_when_nothing_is(
    keys: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    with Broker(folder=folder) as broker:
        broker.create_topic("t")
        broker.produce("t", b"in the clear")
    with Broker(settings_of(keys), folder=folder) as broker:
        broker.produce("t", b"still in the clear")
        broker.create_topic("sealed")
        broker.produce("sealed", VALUE)
        assert values(broker, "t") == [b"in the clear", b"still in the clear"]
    assert found_in(folder, VALUE) == []
    with pytest.raises(BrokerFailed, match="encrypted under keys that are missing"):
        Broker(folder=folder).start()


@pytest.mark.parametrize("is_sealed", [False, True])
def test_erasure_by_key_leaves_no_byte_of_a_person(keys: Path, tmp_path: Path, is_sealed: bool) -> None:
    """A tombstone, compaction, and the end of the files that were there before; sealed, by what the key can open."""
    folder = tmp_path / "data"
    with Broker(settings_of(keys, **FAST) if is_sealed else FAST, folder=folder) as broker:
        broker.create_topic("people", **COMPACTED)
        broker.produce("people", b"someone else", key=b"bo@example.org")
        broker.produce("people", VALUE, key=PERSON)
        assert left_of(folder, keys)
        broker.produce("people", None, key=PERSON)

        def is_gone() -> bool:
            # What comes later lets the segment before it be closed, and the tombstone's time be over.
            broker.produce("people", b"x" * 10, key=b"heartbeat")
            return PERSON not in {record.key for record in broker.records("people")} and not left_of(folder, keys)

        wait_until(is_gone, what="the person's end")
        assert b"someone else" in values(broker, "people")
    assert not left_of(folder, keys)


def left_of(folder: Path, keys: Path) -> set[bytes]:
    """What of a person is in any file, or in any frame of a sealed one that the key opens, cut or not."""
    ring = read_keys(keys.read_text(), "keys")
    found = {text for _, text in found_in(folder, PERSON, VALUE)}
    for path, head in heads_in(str(folder)):
        key = ring.find(head.key_id)
        assert key is not None
        cipher, data = AesGcm(file_secret(key, head.salt)), content(Path(path))
        for start in range(0, len(data), PAGE_BYTES):
            skipped = 0 if start else HEAD_BYTES
            page = data[start + skipped : start + PAGE_BYTES]
            plain = [open_frame(cipher, page, frame) or b"" for frame in walk(page, skipped).frames]
            found |= {text for text in (PERSON, VALUE) if text in b"".join(plain)}
    return found
