"""A cluster's first records besides its features: the file that `storage format` leaves for the first controller.

It has the form and the place of Kafka's, a snapshot in the metadata folder. Whoever controls first writes what it holds
into the log; from then on nobody looks at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.core.base.ports import Steps
from penstock.core.log.checkpoints import read_file
from penstock.core.metadata.framing import decode_record, encode_record
from penstock.core.raft.checkpoint import FOUNDING, snapshot_foot, snapshot_head
from penstock.core.raft.history import VoterHistory
from penstock.core.records.batch import iterate_headers
from penstock.core.records.build import build_batch
from penstock.core.records.record import iterate
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import FeatureLevelRecord

BOOTSTRAP_FILE: Final = "bootstrap.checkpoint"


def bootstrap_checkpoint(records: Sequence[StoredRecord], now_ms: int) -> bytes:
    """The whole file."""
    head = snapshot_head(VoterHistory(), FOUNDING, now_ms, now_ms)
    values = [(None, encode_record(record), (), now_ms) for record in records]
    body = build_batch(values, base_offset=1)
    return bytes(head + body + snapshot_foot(FOUNDING, 1 + len(values), now_ms))


def read_bootstrap(folder: str) -> Steps[list[StoredRecord]]:
    """The records in it; its features are those of whoever wrote it, and ours are known."""
    data = yield from read_file(f"{folder}/{BOOTSTRAP_FILE}")
    found: list[StoredRecord] = []
    for position, header in iterate_headers(data or b""):
        if not header.is_control:
            found += [decode_record(record.value or b"") for record in iterate(data or b"", position)]
    return [record for record in found if not isinstance(record, FeatureLevelRecord)]
