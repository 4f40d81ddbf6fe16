"""A manifest names everything, and whoever changes a byte of it is found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.backups import manifest as manifests
from penstock.cli.backups.manifest import Chunk, Manifest, PartitionBackup, StoredFile, stored
from penstock.cli.backups.store import FolderStore
from penstock.cli.backups.verifying import verify
from penstock.cli.talk import Refused

CHUNK = StoredFile("data/id/0/5-9-ab.log", 4, manifests.sha256(b"data"))
PARTITION = PartitionBackup("t", "id", 0, 5, 9, 2, False, (Chunk(5, 9, CHUNK),))
MADE = Manifest(
    *("one", "cluster", 17, 40, 3, False),
    stored("one/metadata.checkpoint", b"metadata"),
    stored("one/offsets.json", b"[]"),
    (PARTITION,),
)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    store = FolderStore(str(tmp_path / "backups"))
    for name, data in (
        (CHUNK.path, b"data"),
        (MADE.metadata.path, b"metadata"),
        (MADE.offsets.path, b"[]"),
        ("one/manifest.json", MADE.encode()),
    ):
        store.put(name, data)
    return store


def test_what_was_written_is_read(store: FolderStore) -> None:
    assert manifests.names(store) == ["one"]
    assert manifests.load(store, "one") == MADE
    verify(store, MADE)


def test_a_byte_that_changed_is_found(store: FolderStore) -> None:
    data = MADE.encode().replace(b'"end": 9', b'"end": 8')
    store.put("one/manifest.json", data)
    with pytest.raises(Refused, match=r"one/manifest\.json is damaged"):
        manifests.load(store, "one")


@pytest.mark.parametrize("file", [*MADE.files()], ids=lambda file: file.path)
@pytest.mark.parametrize(("change", "said"), [(b"", "has 0 bytes"), (None, "is damaged")])
def test_the_first_wrong_file_is_named(store: FolderStore, file: StoredFile, change: bytes | None, said: str) -> None:
    before = store.get(file.path) or b""
    store.put(file.path, bytes(255 - byte for byte in before) if change is None else change)
    with pytest.raises(Refused) as refused:
        verify(store, MADE)
    assert refused.value.message.startswith(f"{file.path} {said}")


def test_a_file_that_is_missing_is_named(store: FolderStore, tmp_path: Path) -> None:
    (tmp_path / "backups" / CHUNK.path).unlink()
    with pytest.raises(Refused, match=r"5-9-ab\.log is missing"):
        verify(store, MADE)


def test_without_a_manifest_it_was_not_finished(store: FolderStore, tmp_path: Path) -> None:
    (tmp_path / "backups/one/manifest.json").unlink()
    with pytest.raises(Refused, match="was not finished"):
        manifests.load(store, "one")
    with pytest.raises(Refused, match="there is no backup two"):
        manifests.load(store, "two")
    assert manifests.newest(store) is None


@pytest.mark.parametrize("name", ["data", "..", "a/b", "", "-x"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(Refused, match="no name"):
        manifests.check_name(name)


def test_a_later_format_is_refused(store: FolderStore) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifests, "FORMAT", 2)
        newer = MADE.encode()
    with pytest.raises(Refused, match="newer Penstock"):
        manifests.decode("one/manifest.json", newer)
