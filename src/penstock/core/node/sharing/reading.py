"""What is read for members: a slice of the log, where its batches lie in it, and which of them were aborted."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.base.ports import File, Later, Read, Slice, Steps
from penstock.core.partition.partition import Partition
from penstock.core.partition.readers import COMMITTED, Reader
from penstock.core.records.batch import HEADER_BYTES, BatchHeader, check_frame, read_header
from penstock.core.sharing.acquiring import Acquired

WALK_BYTES: Final = 8 * 1024


class Located(NamedTuple):
    """A batch, and where its file holds it."""

    position: int
    header: BatchHeader


class Piece(NamedTuple):
    """Whole batches in a row in one file."""

    file: File
    located: list[Located]
    aborted: list[tuple[int, int]]

    @property
    def batches(self) -> list[tuple[int, int]]:
        return [(each.header.base_offset, each.header.last_offset) for each in self.located]

    @property
    def size(self) -> int:
        return self._end(self.located[-1]) - self.located[0].position if self.located else 0

    def around(self, acquired: list[Acquired]) -> Slice:
        """The batches from the first that holds something acquired to the last."""
        first, last = acquired[0].first, acquired[-1].last
        held = [each for each in self.located if each.header.last_offset >= first and each.header.base_offset <= last]
        return Slice(self.file, held[0].position, self._end(held[-1]) - held[0].position)

    @staticmethod
    def _end(located: Located) -> int:
        return located.position + located.header.size


def read_piece(
    partition: Partition, offset: int, enough_offset: int, bytes_max: int, reader: Reader, *, first: bool
) -> Steps[Piece | None]:
    """Batches from `offset` on, up to the one that holds `enough_offset`: who gets no more need not have them found."""
    piece = partition.read_cached(offset, bytes_max, reader, first)
    if isinstance(piece, Later):
        piece = yield from partition.read(offset, bytes_max, reader, first)
    if piece is None:
        return None
    located = yield from _walk(piece, offset, enough_offset)
    if not located:
        return None
    aborted: list[tuple[int, int]] = []
    if reader is COMMITTED and partition.log.has_aborted(offset):
        aborted = yield from _aborted(partition, located)
    return Piece(piece.file, located, aborted)


def _walk(piece: Slice, offset: int, enough_offset: int) -> Steps[list[Located]]:
    position, end = piece.position, piece.position + piece.length
    data, start = b"", position
    located: list[Located] = []
    while position + HEADER_BYTES <= end:
        if position + HEADER_BYTES > start + len(data):
            data, start = (yield Read(piece.file, position, min(WALK_BYTES, end - position))), position
            if len(data) < HEADER_BYTES:
                break
        header = read_header(data, position - start)
        check_frame(header, position)
        if position + header.size > end:
            break
        if header.last_offset >= offset:
            located.append(Located(position, header))
        if header.last_offset >= enough_offset:
            break
        position += header.size
    return located


def _aborted(partition: Partition, located: list[Located]) -> Steps[list[tuple[int, int]]]:
    """Batches of transactions that were aborted; markers stay, and clients tell of them as gaps."""
    first, last = located[0].header.base_offset, located[-1].header.last_offset
    found = yield from partition.log.aborted_transactions(first, last + 1)
    return [
        (header.base_offset, header.last_offset)
        for _, header in located
        if header.is_transactional
        and not header.is_control
        and any(
            each.producer_id == header.producer_id and each.first_offset <= header.base_offset <= each.last_offset
            for each in found
        )
    ]
