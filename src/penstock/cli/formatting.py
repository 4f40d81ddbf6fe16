"""Making a data folder a node's own: writes `meta.properties`, and the first voters, whole or not at all."""

import os
from typing import TYPE_CHECKING

from penstock.cli.talk import Refused
from penstock.core.log.names import METADATA_DIR
from penstock.core.metadata.storage import META_FILE, META_VERSION, Meta, decode_meta, encode_meta, new_uuid, uuid_text
from penstock.core.node.quorum.bootstrap import BOOTSTRAP_FILE
from penstock.shell.full_sync import sync_whole
from penstock.shell.sealed_mark import mark

if TYPE_CHECKING:
    from penstock.shell.sealed_paths import Sealing

FOUNDING_FILE = "00000000000000000000-0000000000.checkpoint"
"""The snapshot that stands before the first record of the metadata log."""


def new_id() -> str:
    """A cluster or directory id as Kafka prints them."""
    return uuid_text(new_uuid(os.urandom(16)))


def read_meta(folder: str) -> Meta | None:
    """Whose folder it is; None if nobody has formatted it."""
    try:
        with open(os.path.join(folder, META_FILE), "rb") as file:
            return decode_meta(file.read())
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise Refused(f"cannot read {folder}: {failure.strerror}", "check log.dirs in the settings") from None


def format_folder(
    folder: str,
    cluster_id: str,
    node_id: int,
    directory_id: str | None = None,
    founding: bytes | None = None,
    bootstrap: bytes | None = None,
    sealing: "Sealing | None" = None,
) -> Meta:
    """Make a folder a node's. `founding` is the first snapshot of the metadata, where the cluster's voters are kept
    there, and `bootstrap` its first records, users among them; they come before the file that says that the folder is
    complete."""
    meta = Meta(META_VERSION, cluster_id, node_id, directory_id or new_id())
    if sealing is not None:
        mark(folder)
    if founding is not None:
        _write(os.path.join(folder, METADATA_DIR, FOUNDING_FILE), sealed(founding, sealing))
    if bootstrap is not None:
        _write(os.path.join(folder, BOOTSTRAP_FILE), sealed(bootstrap, sealing))
    _write(os.path.join(folder, META_FILE), encode_meta(meta))
    return meta


def sealed(data: bytes, sealing: "Sealing | None") -> bytes:
    """The bytes of a file that holds these."""
    if sealing is None:
        return data
    from penstock.core.sealing.sealed_file import new_file

    return b"".join(new_file(sealing()).seal(data))


def _write(path: str, data: bytes) -> None:
    """Write a file under another name first, so that a crash leaves either nothing or all of it."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.tmp", "wb") as file:
            file.write(data)
            file.flush()
            sync_whole(file.fileno())
        os.replace(f"{path}.tmp", path)
    except OSError as failure:
        raise Refused(f"cannot write {path}: {failure.strerror}", "check log.dirs in the settings") from None
