"""Packing as a job: a sealed segment in, the same segment with its plain batches compressed out.

A packed batch keeps its identity - offsets, epoch, producer, sequence, timestamps - and its records byte for byte; only
its size, codec and checksum are others. Records are not looked at, and so a batch costs what its codec costs.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.base.ports import Buffer, JobFiles
from penstock.core.log.rewriting import Fields, Output, Rewritten, Source, Unreadable, read_batches, unreadable
from penstock.core.log.settings import LogSettings
from penstock.core.records import checksum
from penstock.core.records.batch import CODEC_MASK, CONTROL_BIT, BatchHeader, read_header
from penstock.core.records.build import recompress
from penstock.core.records.codecs import Codec
from penstock.core.records.errors import CorruptBatch

_ATTRIBUTES: Final = BatchHeader._fields.index("attributes")
_NOT_PACKABLE: Final = CODEC_MASK | CONTROL_BIT


class Packing(NamedTuple):
    """How sealed batches are to be compressed; `Codec.NONE` leaves them as they are."""

    codec: int = Codec.NONE
    level: int | None = None


class PackingPlan(NamedTuple):
    """All that the job needs to know; plain values, because it runs in another process."""

    folder: str
    source: Source
    packing: Packing
    index_interval_bytes: int
    # The transaction index as it stands: it speaks of offsets, which do not change.
    aborted: bytes


def packing_of(settings: LogSettings) -> Packing:
    return Packing(Codec[settings.sealed_compression_type.upper()], settings.sealed_compression_level)


def pack_segment(files: JobFiles, plan: PackingPlan) -> Rewritten | Unreadable | None:
    """Write a `.cleaned` segment, synced and ready to be swapped in; None where there is nothing to be gained. Whatever
    the reason that it was not finished, a full disk above all, nothing of it is left behind."""
    output = Output(files, plan.folder, plan.source.base_offset, plan.index_interval_bytes)
    rewritten = None
    try:
        if _has_packable(files, plan.source):
            rewritten = _rewrite(files, plan, output)
    except CorruptBatch as error:
        # A segment that is no row of batches is not improved by rewriting it.
        return unreadable(error, plan.source)
    finally:
        if rewritten is None:
            output.discard()
    return rewritten


def _has_packable(files: JobFiles, source: Source) -> bool:
    """Where producers compress, a look at the headers saves writing all of it for nothing."""
    return any(_is_packable(fields) for _, _, fields in read_batches(files, source))


def _is_packable(fields: Fields) -> bool:
    return not fields[_ATTRIBUTES] & _NOT_PACKABLE


def _rewrite(files: JobFiles, plan: PackingPlan, output: Output) -> Rewritten | None:
    for data, position, fields in read_batches(files, plan.source):
        size = BatchHeader._make(fields).size
        output.write(pack(memoryview(data)[position : position + size], plan.packing))
    if output.size_bytes >= plan.source.size_bytes:
        return None
    return output.finish(plan.source.end_offset, plan.aborted)


def pack(batch: Buffer, packing: Packing) -> Buffer:
    """A batch as it is to be kept: compressed, if it is plain and that makes it smaller. One whose checksum is wrong
    stays as it is, because a new checksum would hide that from its readers."""
    if packing.codec == Codec.NONE:
        return batch
    header = read_header(batch)
    if not _is_packable(header) or not checksum.is_valid(batch, 0, header):
        return batch
    packed = recompress(batch, packing.codec, packing.level)
    return packed if len(packed) < header.size else batch
