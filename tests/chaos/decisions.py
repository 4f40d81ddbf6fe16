"""What the controllers have decided, read from the metadata log of a node's folder: nothing in it is ever missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from penstock.core.metadata.framing import decode_record
from penstock.core.records.batch import BatchHeader, iterate_headers
from penstock.core.records.record import iterate
from penstock.core.wire.stored.cluster_metadata import BrokerRegistrationChangeRecord, PartitionChangeRecord

ELECTIONS = "elections of a controller"
LEADERS = "changes of a leader"
SHRINKS = "changes of an in-sync set"
FENCED = "brokers fenced"
_AS_BEFORE = -2


def end_offset(folder: Path) -> int:
    return max((header.next_offset for _, _, header in _batches(folder)), default=0)


def decided_since(folder: Path, offset: int) -> Counter[str]:
    """What was decided from an offset on, counted by kind."""
    found: Counter[str] = Counter({ELECTIONS: 0, LEADERS: 0, SHRINKS: 0, FENCED: 0})
    for data, position, header in _batches(folder):
        if header.base_offset < offset:
            continue
        if header.is_control:
            found[ELECTIONS] += 1
            continue
        for record in iterate(data, position):
            change = decode_record(bytes(record.value or b""))
            if isinstance(change, PartitionChangeRecord):
                found[LEADERS] += change.leader != _AS_BEFORE
                found[SHRINKS] += change.isr is not None
            elif isinstance(change, BrokerRegistrationChangeRecord):
                found[FENCED] += change.fenced == 1
    return found


def _batches(folder: Path) -> Iterator[tuple[bytes, int, BatchHeader]]:
    for segment in sorted((folder / "__cluster_metadata-0").glob("*.log")):
        data = segment.read_bytes()
        for position, header in iterate_headers(memoryview(data), partial_tail=True):
            yield data, position, header
