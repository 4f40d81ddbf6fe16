"""Records that do not fit become dead letters, and what is left of their batch keeps its offsets and sequences: it is
what compaction would leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from penstock.core.base.ports import Buffer, JobFiles
from penstock.core.records.batch import BatchHeader, read_header
from penstock.core.records.build import rebuild, recompress
from penstock.core.records.record import Record, read_body, records_of, spans_of
from penstock.core.records.validate import Rules

TAKEN_BEFORE = "it was diverted when its batch came first"


class Letter(NamedTuple):
    """A record that is not stored, with its place in the batch as its offset, and the reason."""

    record: Record
    reason: str


class Diverted(NamedTuple):
    """What is left of a batch, what is not, and, as it came, the whole."""

    rest: Buffer
    letters: list[Letter]
    whole: Buffer


def divert(batch: Buffer, rules: Rules, found: Sequence[tuple[int, str]]) -> Diverted:
    """Take the records out that were found, by their places."""
    header = read_header(batch)
    body = read_body(batch, 0, header, rules.unpacked_bytes_max)
    reasons = dict(found)
    kept = [span for span in spans_of(header, body) if span.offset_delta not in reasons]
    rest = rebuild(header, body, kept)
    if kept and rules.codec is not None and rules.recompresses(header):
        rest = recompress(rest, rules.codec, rules.level)
    return Diverted(rest, _letters(header, body, reasons), batch)


def missing(_files: JobFiles, stored: bytes, whole: Buffer) -> list[Letter]:
    """The job: the records of a batch that are not in what is stored of it."""
    header = read_header(stored)
    held = {span.offset_delta for span in spans_of(header, read_body(stored, 0, header))}
    header = read_header(whole)
    gone = {index: TAKEN_BEFORE for index in range(header.count) if index not in held}
    return _letters(header, read_body(whole, 0, header), gone)


def _letters(header: BatchHeader, body: bytes, reasons: dict[int, str]) -> list[Letter]:
    return [Letter(each, reasons[each.offset]) for each in records_of(header, body) if each.offset in reasons]
