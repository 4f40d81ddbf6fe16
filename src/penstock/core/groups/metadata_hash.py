"""What a group was told of the topics that it reads, as one number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.core.base.crc32c import crc32c
from penstock.core.groups.topics import TopicLookup

_CRC_BITS: Final = 32
_SIGN: Final = 1 << 63


def metadata_hash(topics: TopicLookup, names: Iterable[str]) -> int:
    """A number that changes when one of these topics comes, goes or grows; 0 where there is none."""
    known = [(name, topics.id_of(name), topics.partition_count(name)) for name in sorted(names)]
    data = "\n".join(f"{name} {each.hex()} {count}" for name, each, count in known if each is not None).encode()
    if not data:
        return 0
    value = crc32c(data) << _CRC_BITS | crc32c(data[::-1])
    return value - (_SIGN << 1) if value >= _SIGN else value
