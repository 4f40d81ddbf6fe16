"""Files of a backup in a folder, and in a bucket."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.backups.store import FolderStore, Store, open_store
from penstock.cli.talk import Refused

BUCKET = "s3://backups/of/penstock"


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "folder":
        return FolderStore(str(tmp_path / "backups"))
    request.getfixturevalue("s3")
    return open_store(BUCKET)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server of S3's API, in this process; the machine reaches no other one."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "AWS_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        import boto3

        boto3.client("s3", endpoint_url=f"http://{host}:{port}").create_bucket(Bucket="backups")
        yield
    finally:
        server.stop()


def test_a_file_is_what_was_put_last(store: Store) -> None:
    assert store.get("one/manifest.json") is None
    assert store.names("") == []
    for data in (b"", b"first", b"second" * 1000):
        store.put("one/manifest.json", data)
        assert store.get("one/manifest.json") == data
    store.put("data/t/0/1.log", b"x")
    store.put("two", b"")
    assert store.names("") == ["data", "one", "two"]
    assert store.names("data") == ["t"]
    assert store.names("one") == ["manifest.json"]


def test_what_was_not_finished_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(str(tmp_path))
    store.put("one", b"before")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(Refused, match="No space left on device"):
        store.put("one", b"after")
    assert store.get("one") == b"before"
    assert os.listdir(tmp_path) == ["one"]


@pytest.mark.slow
@pytest.mark.usefixtures("s3")
def test_a_bucket_that_is_not_there_is_one_line() -> None:
    with pytest.raises(Refused) as refused:
        open_store("s3://elsewhere/x").put("one", b"")
    assert refused.value.message.startswith("s3://elsewhere/x cannot be used: ")
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("location", ["ftp://host/x", "s3://"])
def test_what_is_no_place_is_one_line(location: str) -> None:
    with pytest.raises(Refused, match="cannot be used"):
        open_store(location)
