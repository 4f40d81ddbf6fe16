"""What goes in and out of a topic here. Its partitions share one, whatever their roles are: who leads, follows and
leads again has counted all along."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, NamedTuple

from penstock.core.base.histogram import SIZE_BOUNDS_BYTES, Histogram
from penstock.core.records.batch import HEADER_BYTES, read_header
from penstock.core.records.codecs import Codec
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.record import read_body

SAMPLED_BYTES_MAX: Final = 64 << 10
UNPACKED_BYTES_MAX: Final = 1 << 20
SAMPLE_INTERVAL_MS: Final = 1_000


class Sample(NamedTuple):
    """Compressed batches that were looked at: their sizes as they came, and unpacked."""

    batches: int = 0
    packed_bytes: int = 0
    unpacked_bytes: int = 0


class Intake:
    """What all producers of a node have sent: how large their batches are, and how well they are compressed.

    How large a batch is unpacked only unpacking tells: one a second is looked at, and no large one."""

    __slots__ = ("batch_sizes", "due_ms", "samples")

    def __init__(self) -> None:
        self.batch_sizes = Histogram(SIZE_BOUNDS_BYTES)
        self.due_ms = 0
        self.samples: dict[str, Sample] = {}

    def sample(self, records: memoryview, now_ms: int) -> None:
        """Look at a batch, if it is compressed."""
        self.due_ms = now_ms + SAMPLE_INTERVAL_MS
        header = read_header(records)
        if header.codec == Codec.NONE or len(records) > SAMPLED_BYTES_MAX:
            return
        try:
            body = read_body(records, 0, header, UNPACKED_BYTES_MAX)
        except CorruptBatch:
            # What unpacks to more is left out, too.
            return
        codec = Codec(header.codec).name.lower()
        before = self.samples.get(codec, Sample())
        self.samples[codec] = Sample(
            before.batches + 1, before.packed_bytes + len(records), before.unpacked_bytes + HEADER_BYTES + len(body)
        )


class Traffic:
    """Counters of one topic on this node."""

    __slots__ = (
        "batches_in",
        "bytes_in",
        "bytes_out",
        "fetches",
        "fetches_failed",
        "intake",
        "produces_failed",
        "records_in",
        "replicated_bytes_out",
    )

    def __init__(self, intake: Intake) -> None:
        self.intake = intake
        self.batches_in = 0
        self.bytes_in = 0
        self.records_in = 0
        self.produces_failed = 0
        self.bytes_out = 0
        self.fetches = 0
        self.fetches_failed = 0
        self.replicated_bytes_out = 0

    def took(self, batches: int, size_bytes: int, records: int) -> None:
        """Batches were appended together."""
        self.batches_in += batches
        self.bytes_in += size_bytes
        self.records_in += records
        sizes = self.intake.batch_sizes
        sizes.counts[bisect_left(SIZE_BOUNDS_BYTES, size_bytes // batches)] += batches
        sizes.total += size_bytes

    def add(self, other: Traffic) -> None:
        """Take over what another has counted."""
        for name in COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))


COUNTERS: Final = tuple(name for name in Traffic.__slots__ if name != "intake")
