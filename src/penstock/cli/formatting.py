"""Making a data folder a node's own: writes `meta.properties`, whole or not at all."""

import os

from penstock.cli.talk import Refused
from penstock.core.metadata.storage import META_FILE, META_VERSION, Meta, decode_meta, encode_meta, new_uuid, uuid_text


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


def format_folder(folder: str, cluster_id: str, node_id: int) -> Meta:
    """Write the file under another name first, so that a crash leaves either nothing or all of it."""
    meta = Meta(META_VERSION, cluster_id, node_id, new_id())
    path = os.path.join(folder, META_FILE)
    try:
        os.makedirs(folder, exist_ok=True)
        with open(f"{path}.tmp", "wb") as file:
            file.write(encode_meta(meta))
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.tmp", path)
    except OSError as failure:
        raise Refused(f"cannot write {path}: {failure.strerror}", "check log.dirs in the settings") from None
    return meta
