"""Which partition of `__consumer_offsets` is in charge of a group: the same one that Kafka would choose."""

from __future__ import annotations

_INT_BITS = 32
_INT_MASK = (1 << _INT_BITS) - 1
_INT_MAX = _INT_MASK >> 1
_HASH_FACTOR = 31


def partition_for_group(group_id: str, partition_count: int) -> int:
    """The shard of a group, by Java's hash of its name."""
    return _positive(_java_string_hash(group_id)) % partition_count


def _java_string_hash(text: str) -> int:
    """Java's `String.hashCode`, which runs over UTF-16 code units and wraps at 32 bits."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * _HASH_FACTOR + (high << 8 | low)) & _INT_MASK
    return value - (1 << _INT_BITS) if value > _INT_MAX else value


def _positive(value: int) -> int:
    """Kafka's absolute value: the smallest int has no positive twin and counts as 0."""
    return 0 if value == -_INT_MAX - 1 else abs(value)
