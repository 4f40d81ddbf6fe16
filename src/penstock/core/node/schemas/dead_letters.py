"""Records that did not fit, on their way to the topic of dead letters: in batches, one after the other, each committed
before the next.

Whoever produced them is not answered before they are there. What fails for now is tried again until a request's time is
over; then the producer is told to come again. A letter may be written twice, and never not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Job, Read, RunJob, Steps
from penstock.core.delivery.dead_letter import SUFFIX, Origin, dead_letter_headers
from penstock.core.delivery.policy import ERROR_MESSAGE_CHARS_MAX, GiveUp, bounded
from penstock.core.node.schemas.ports import SchemaHost
from penstock.core.node.storage.letters import COME_AGAIN, FACTS_BYTES_MAX, Delivery, NewRecord, batches_of
from penstock.core.partition.schema_source import Diverting, Written
from penstock.core.records.batch import iterate_headers, read_header
from penstock.core.records.diverting import Diverted, Letter, missing
from penstock.core.records.errors import CorruptBatch, RecordError

ERROR_CLASS: Final = "INVALID_RECORD"


class DeadLetters:
    """Of one node."""

    def __init__(self, node: SchemaHost) -> None:
        self._node = node

    def check(self, source: Diverting, letters: Sequence[Letter]) -> None:
        """Raise what a producer hears whose records cannot become dead letters, before anything is stored."""
        topic = source.topic + SUFFIX
        bytes_max = self._node.replicas.topic_settings(self._node.image, topic).max_message_bytes - FACTS_BYTES_MAX
        found = [letter.record.offset for letter in letters if _size(letter) > bytes_max]
        if found:
            why = f"is too large for {topic}, which takes {bytes_max} bytes"
            raise RecordError(ErrorCode.INVALID_RECORD, f"record {found[0]} {why}", tuple((at, why) for at in found))

    def write(self, source: Diverting, base_offset: int, letters: Sequence[Letter], written: Written) -> None:
        """`written` comes once, with what the producer hears if they could not be written."""
        records = [self._record(source, base_offset, letter) for letter in letters]
        topic, node = source.topic + SUFFIX, self._node
        node.log(
            "warning",
            "schemas",
            f"{len(letters)} records of {source.topic}-{source.index} go to {topic}, the first because "
            f"{letters[0].reason}",
            kind=f"dead letters of {source.topic}",
        )
        Delivery(node, topic, source.index, batches_of(records), written).go_on()

    def write_again(self, source: Diverting, base_offset: int, whole: Diverted, written: Written) -> None:
        """The same for a batch that was taken before: what counts is what was left out of it then."""

        def found(outcome: list[Letter] | Exception) -> None:
            if isinstance(outcome, ApiError):
                written(outcome)
            elif isinstance(outcome, FileFailure | CorruptBatch):
                written(ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(outcome)))
            elif isinstance(outcome, Exception):
                raise outcome
            elif outcome:
                self.write(source, base_offset, outcome, written)
            else:
                written(None)

        self._node.tasks.run(_left_out(source, base_offset, whole), found)

    def _record(self, source: Diverting, base_offset: int, letter: Letter) -> NewRecord:
        record = letter.record
        origin = Origin(source.topic, source.index, base_offset + record.offset, record.timestamp)
        reason = GiveUp(1, ERROR_CLASS, bounded(letter.reason, ERROR_MESSAGE_CHARS_MAX))
        headers = dead_letter_headers(record.headers, origin, reason, f"broker={self._node.node_id}")
        return record.key, record.value, headers, record.timestamp


def _left_out(source: Diverting, base_offset: int, whole: Diverted) -> Steps[list[Letter]]:
    """The letters of a batch that is stored already, by what is stored of it."""
    log, header = source.log, read_header(whole.whole)
    end_offset = base_offset + header.last_offset_delta + 1
    if base_offset < log.start_offset:
        return []
    if log.written_offset < end_offset:
        raise COME_AGAIN
    piece = yield from log.read(base_offset, 1, end_offset, True)
    data: bytes = b"" if piece is None else (yield Read(piece.file, piece.position, piece.length))
    for position, stored in iterate_headers(data, partial_tail=True):
        if stored.base_offset == base_offset and stored.count < header.count:
            part = data[position : position + stored.size]
            letters: list[Letter] = yield RunJob(Job(missing, (part, bytes(whole.whole))), is_awaited=True)
            return letters
    return []


def _size(letter: Letter) -> int:
    record = letter.record
    headers = sum(len(name) * 4 + len(value or b"") + 10 for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
