"""Batches with a good checksum whose records are not what their header says, or are no records at all."""

from __future__ import annotations

from struct import pack_into
from typing import Any, Final

from penstock.core.records.batch import ATTRIBUTES_AT, CRC_AT, read_header
from penstock.core.records.build import build_batch, seal
from penstock.core.records.checksum import compute
from penstock.core.records.codecs import Codec, compress
from penstock.core.records.varint import encode

T: Final = 1_000_000
MOST: Final = 2**31 - 1
LEAST: Final = -(2**31)
COMPRESSED: Final = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
ENDLESS: Final = b"\xff" * 12


def record(
    delta: int = 0,
    *,
    size: bytes | None = None,
    time: bytes = b"\0",
    offset: bytes | None = None,
    key: bytes = encode(1) + b"k",
    value: bytes = encode(5) + b"value",
    headers: bytes = b"\0",
) -> bytes:
    """One record out of its encoded fields."""
    rest = b"\0" + time + (encode(delta) if offset is None else offset) + key + value + headers
    return (encode(len(rest)) if size is None else size) + rest


def batch(body: bytes, count: int = 1, codec: int = Codec.NONE, *, packed: bytes | None = None, **more: Any) -> bytes:
    """A batch of that body, or of what is said to be its packed form."""
    header = read_header(build_batch([(b"k", b"v", (), T)]))
    fields = {"count": count, "last_offset_delta": count - 1} | more
    data = seal(header._replace(**fields), bytes(compress(codec, body)) if packed is None else packed)
    pack_into(">h", data, ATTRIBUTES_AT, codec)
    pack_into(">I", data, CRC_AT, compute(data, 0, len(data)))
    return bytes(data)


HONEST: Final = record()
TWO: Final = record(0) + record(1)

_BODIES: Final[dict[str, tuple[bytes, int]]] = {
    "1 said, 2 there": (TWO, 1),
    "2 said, 1 there": (HONEST, 2),
    "bytes behind the last record": (HONEST + b"\0\0", 1),
    "garbage": (b"\x9d\x77\xe1\x03" * 10, 1),
    "nothing": (b"", 1),
    "record longer than the batch": (record(size=encode(10_000)), 1),
    "record of 2^31-1 bytes": (record(size=encode(MOST)), 1),
    "record of -1 bytes": (record(size=encode(-1)), 1),
    "record of 0 bytes": (record(size=encode(0)), 1),
    "record of endless size": (record(size=ENDLESS), 1),
    "record shorter than its fields": (record(size=encode(4)), 1),
    "record a byte too long": (record(size=encode(12)) + b"\0", 1),
    "key beyond the batch": (record(key=encode(5_000) + b"k"), 1),
    "key of 2^31-1 bytes": (record(key=encode(MOST) + b"k"), 1),
    "key of -2 bytes": (record(key=encode(-2)), 1),
    "key of endless size": (record(key=ENDLESS), 1),
    "value beyond the batch": (record(value=encode(5_000) + b"v"), 1),
    "value of -2 bytes": (record(value=encode(-2)), 1),
    "value of -2^31 bytes": (record(value=encode(LEAST)), 1),
    "-1 headers": (record(headers=encode(-1)), 1),
    "2^31-1 headers": (record(headers=encode(MOST)), 1),
    "3 headers said, none there": (record(headers=encode(3)), 1),
    "endlessly many headers": (record(headers=ENDLESS), 1),
    "header without a key": (record(headers=encode(1) + encode(-1) + encode(0)), 1),
    "header key beyond the batch": (record(headers=encode(1) + encode(900) + b"h"), 1),
    "header value of -2 bytes": (record(headers=encode(1) + encode(1) + b"h" + encode(-2)), 1),
    "endless time": (record(time=ENDLESS), 1),
    "endless offset": (record(offset=ENDLESS), 1),
    "first offset is 1": (record(1), 1),
    "offsets fall": (record(1) + record(0), 2),
    "offsets are the same": (record(0) + record(0), 2),
    "offset of -1": (record(-1), 1),
    "a batch for a record": (bytes(build_batch([(b"k", b"v", (), T)])), 1),
}
_FIELDS: Final[dict[str, dict[str, int]]] = {
    "1000 for 1": {"count": 1000},
    "2^31-1 for 1": {"count": MOST},
    "count against last offset": {"count": 1, "last_offset_delta": 4},
    "last offset of 2^31-1": {"last_offset_delta": MOST},
    "base time -2^63": {"base_timestamp": -(2**63)},
    "base time -2": {"base_timestamp": -2},
    "base time 2^63-1": {"base_timestamp": 2**63 - 1},
    "all times -2^63": {"base_timestamp": -(2**63), "max_timestamp": -(2**63)},
    "largest time -2^63": {"max_timestamp": -(2**63)},
    "largest time below the base": {"max_timestamp": T - 1},
    "largest time 2^63-1": {"max_timestamp": 2**63 - 1},
}


def _streams(codec: Codec) -> dict[str, bytes]:
    """What is no stream of a codec, or not one only."""
    whole = bytes(compress(codec, HONEST))
    long = bytes(compress(codec, b"".join(record(each) for each in range(50))))
    other = Codec.ZSTD if codec is Codec.GZIP else Codec.GZIP
    return {
        "garbage stream": batch(b"", codec=codec, packed=b"\x9d\x77\xe1\x03" * 10),
        "empty stream": batch(b"", codec=codec, packed=b""),
        "no stream at all": batch(b"", codec=codec, packed=HONEST),
        "stream of another codec": batch(b"", codec=codec, packed=bytes(compress(other, HONEST))),
        "stream cut by a byte": batch(b"", codec=codec, packed=whole[:-1]),
        "stream cut in half": batch(b"", 50, codec, packed=long[: len(long) // 2]),
        "stream of a stream": batch(b"", codec=codec, packed=bytes(compress(codec, whole))),
        "stream, then bytes": batch(b"", codec=codec, packed=whole + b"\0\x01\x02\x03"),
        "stream, then another": batch(b"", 1, codec, packed=whole * 2),
    }


LIES: Final[dict[str, bytes]] = {
    **{name: batch(body, count) for name, (body, count) in _BODIES.items()},
    **{f"{name}, gzip": batch(body, count, Codec.GZIP) for name, (body, count) in _BODIES.items()},
    **{name: batch(HONEST, **fields) for name, fields in _FIELDS.items()},
    **{f"{name}, gzip": batch(HONEST, codec=Codec.GZIP, **fields) for name, fields in _FIELDS.items()},
    **{f"{name}, {codec.name.lower()}": data for codec in COMPRESSED for name, data in _streams(codec).items()},
}
