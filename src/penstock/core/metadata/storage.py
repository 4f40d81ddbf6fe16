"""`meta.properties`: who owns a data folder. The first thing read, so that the wrong folder is refused in one line."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

from penstock.core.base.errors import PenstockError
from penstock.core.base.values import frozen

META_FILE = "meta.properties"
META_VERSION = 1


class StorageError(PenstockError):
    """The data folder cannot be used; the message says why and what to do."""


@frozen
class Meta:
    """The content of `meta.properties`."""

    version: int
    cluster_id: str
    node_id: int
    directory_id: str


def uuid_text(value: bytes) -> str:
    """A 16-byte id as Kafka prints it: URL-safe base64 without padding."""
    return urlsafe_b64encode(value).decode().rstrip("=")


def uuid_bytes(text: str) -> bytes:
    """The 16 bytes behind `uuid_text`."""
    try:
        value = urlsafe_b64decode(text + "==")
    except ValueError:
        value = b""
    if len(value) != 16:
        raise StorageError(f"{text!r} is not an id: 22 characters of URL-safe base64 are expected")
    return value


def new_uuid(random: bytes) -> bytes:
    """An id from 16 random bytes, a version 4 UUID as Java makes them; never one whose text begins with a dash."""
    value = bytearray(random)
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    if value[0] >> 2 == 0x3E:
        value[0] &= 0x7F
    return bytes(value)


def encode_meta(meta: Meta) -> bytes:
    lines = [
        "#",
        f"version={meta.version}",
        f"cluster.id={meta.cluster_id}",
        f"node.id={meta.node_id}",
        f"directory.id={meta.directory_id}",
    ]
    return ("\n".join(lines) + "\n").encode()


def decode_meta(data: bytes) -> Meta:
    """Read `meta.properties`; a newer version is refused rather than guessed at."""
    pairs = [line.split("=", 1) for line in data.decode(errors="replace").splitlines() if "=" in line]
    found = {key.strip(): value.strip() for key, value in pairs if not key.startswith("#")}
    try:
        meta = Meta(int(found["version"]), found["cluster.id"], int(found["node.id"]), found.get("directory.id", ""))
    except (KeyError, ValueError) as error:
        raise StorageError(f"{META_FILE} is damaged ({error}); restore it, or format a new data folder") from None
    if meta.version > META_VERSION:
        raise StorageError(
            f"the data folder has format version {meta.version}, this Penstock reads up to {META_VERSION}; "
            "start it with the newer Penstock that wrote it"
        )
    return meta
