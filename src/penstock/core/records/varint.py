"""Zigzag varints, as records use them: small numbers of either sign in one byte.

The loops over records spell out the one- and two-byte cases themselves, because a call per field would double their
cost; they come here for the rest.
"""

from __future__ import annotations

from typing import Final

from penstock.core.records.errors import CorruptBatch

_TABLE_SIZE: Final = 1 << 14
_UINT32_MAX: Final = (1 << 32) - 1
_UINT64_MAX: Final = (1 << 64) - 1


def _encode_unsigned(raw: int) -> bytes:
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def _table() -> tuple[bytes, ...]:
    """All numbers of one or two bytes. The latter are cut out of one piece, as every program that loads this waits."""
    low, high = bytes(range(0x80, 0x100)), range(0x80)
    pairs = bytearray(2 * _TABLE_SIZE)
    pairs[0::2] = low * len(high)
    pairs[1::2] = b"".join(bytes([each]) * len(low) for each in high)
    cut = bytes(pairs)
    return *(bytes([raw]) for raw in high), *[cut[at : at + 2] for at in range(2 * len(low), len(cut), 2)]


_TABLE: Final = _table()


def encode(number: int) -> bytes:
    """The shortest zigzag varint of a signed number."""
    raw = number << 1 if number >= 0 else ~(number << 1)
    return _TABLE[raw] if raw < _TABLE_SIZE else _encode_unsigned(raw)


def zigzag(raw: int) -> int:
    return raw >> 1 ^ -(raw & 1)


def read_raw32(body: bytes, pos: int) -> tuple[int, int]:
    """(unsigned value before zigzag, next position) of a number of at most 32 bits. IndexError past the end."""
    return _read_raw(body, pos, _UINT32_MAX)


def read_raw64(body: bytes, pos: int) -> tuple[int, int]:
    """The same for at most 64 bits."""
    return _read_raw(body, pos, _UINT64_MAX)


def wide32(body: bytes, pos: int) -> tuple[int, int]:
    """(unsigned value, position of its last byte) of a number whose second byte stands at `pos`: for the loops."""
    value, pos = _read_raw(body, pos - 1, _UINT32_MAX)
    return value, pos - 1


def wide64(body: bytes, pos: int) -> tuple[int, int]:
    """The same for at most 64 bits."""
    value, pos = _read_raw(body, pos - 1, _UINT64_MAX)
    return value, pos - 1


def _read_raw(body: bytes, pos: int, value_max: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = body[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if value > value_max or shift > 63:
            raise CorruptBatch(f"a varint has more than {value_max.bit_length()} bits")
        if byte < 0x80:
            return value, pos
        shift += 7
