"""Whether every file of a backup is there, and is what was written."""

from __future__ import annotations

from penstock.cli.backups.manifest import Manifest, StoredFile, sha256
from penstock.cli.backups.store import Store
from penstock.cli.talk import Refused


def verify(store: Store, manifest: Manifest) -> None:
    """Read everything; the first file that is wrong is named."""
    for file in manifest.files():
        read_file(store, file)


def read_file(store: Store, file: StoredFile) -> bytes:
    """What was written, or nothing at all."""
    data = store.get(file.path)
    if data is None:
        raise _wrong(file, "is missing")
    if len(data) != file.size_bytes:
        raise _wrong(file, f"has {len(data)} bytes and not {file.size_bytes}")
    if sha256(data) != file.sha256:
        raise _wrong(file, "is damaged: its checksum is another one")
    return data


def _wrong(file: StoredFile, what: str) -> Refused:
    return Refused(f"{file.path} {what}", "take another backup: `penstock backup list`")
