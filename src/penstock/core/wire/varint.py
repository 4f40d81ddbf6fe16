"""Unsigned varints, and the sections of tagged fields that are made of them.

Compiled codecs handle one-byte values by themselves; these functions see what is longer. They are written out for two
and three bytes, the usual lengths of record batches.
"""

from penstock.core.wire.errors import DecodeError, TooManyElements
from penstock.core.wire.fields import Buffer

VARINT_BYTES_MAX = 5
TAGGED_FIELDS_MAX = 1_000
"""Of which nobody knows any, in a header. Kafka has defined none."""
INT32_MAX = 0x7FFFFFFF


def read_varint(data: Buffer, position: int) -> tuple[int, int]:
    """The varint that starts at `position`, and the position after it. Past the end it raises IndexError."""
    low = data[position]
    if low < 0x80:
        return low, position + 1
    middle = data[position + 1]
    if middle < 0x80:
        return low & 0x7F | middle << 7, position + 2
    high = data[position + 2]
    if high < 0x80:
        return low & 0x7F | (middle & 0x7F) << 7 | high << 14, position + 3
    return _read_long_varint(data, position)


def _read_long_varint(data: Buffer, position: int) -> tuple[int, int]:
    value = 0
    for index in range(VARINT_BYTES_MAX):
        byte = data[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80 and value <= INT32_MAX:
            return value, position + index + 1
    raise DecodeError(f"varint at byte {position} does not fit in 31 bits")


def skip_tagged_fields(data: Buffer, position: int, count_max: int = INT32_MAX) -> int:
    """The position after a section of tagged fields of which none is known."""
    count, position = read_varint(data, position)
    if count > count_max:
        raise DecodeError(f"{count} tagged fields, allowed are {count_max}")
    for _ in range(count):
        _, position = read_varint(data, position)
        size, position = read_varint(data, position)
        position += size
    return position


def skip_counted_fields(data: Buffer, position: int, left: int) -> tuple[int, int]:
    """The same where so many more elements may be read; gives how many are left."""
    left -= read_varint(data, position)[0]
    if left < 0:
        raise TooManyElements("there are more tagged fields than a request of this kind may have elements in all")
    return skip_tagged_fields(data, position), left


def encode_varint(value: int) -> bytes:
    """The shortest form of `value`, which must not be negative."""
    if value < 0x80:
        return bytes((value,))
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if value < 0x200000:
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    return bytes((value & 0x7F | 0x80,)) + encode_varint(value >> 7)
