"""Reading all of a segment to see whether it is what was written: each batch's checksum, and what its indexes say.

Nothing is changed. What is damaged is told batch by batch, as far as the next good one can be made out: by the length
that the bad one claims, or else, where somebody can wait for that (`seeks`), by looking at every byte behind it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.base.crc32c import crc32c
from penstock.core.base.ports import Buffer, File, ListDir, Read, Steps
from penstock.core.log.checkpoints import read_file
from penstock.core.log.damage import clause
from penstock.core.log.leftovers import Listing
from penstock.core.log.names import INDEX, LOG, TIME_INDEX, path_of
from penstock.core.log.offset_index import ENTRY as OFFSET_ENTRY
from penstock.core.log.scan import CHUNK_BYTES
from penstock.core.log.segment import RELATIVE_OFFSET_MAX
from penstock.core.log.time_index import ENTRY as TIME_ENTRY
from penstock.core.records.batch import ATTRIBUTES_AT, HEADER_BYTES, MAGIC, NO_TIMESTAMP, BatchHeader, read_header
from penstock.core.records.checksum import is_valid

SEEK_BYTES: Final = 1 << 20
_MAGIC_AT: Final = 16
_MAGIC_BYTE: Final = bytes((MAGIC,))


class Bad(NamedTuple):
    """Bytes of a segment that are no good batch."""

    file: str
    position: int
    size_bytes: int
    first_offset: int
    end_offset: int
    """The first offset that can be read again."""

    @property
    def what(self) -> str:
        return clause(self.file, self.position, self.size_bytes, self.first_offset, self.end_offset)


class SegmentCheck:
    """One segment, chunk by chunk; whoever asks for the chunks says how fast."""

    __slots__ = (
        "_at_offset",
        "_at_time",
        "_file",
        "_is_sealed",
        "_max_timestamp",
        "_offsets",
        "_seeks",
        "_times",
        "bad",
        "base_offset",
        "batches",
        "end_offset",
        "is_index_bad",
        "next_offset",
        "position",
        "size_bytes",
    )

    def __init__(
        self, file: File, base_offset: int, end_offset: int | None, size_bytes: int, *, seeks: bool = False
    ) -> None:
        """`end_offset` is where the next segment begins, if there is one."""
        self._file = file
        self.base_offset = self.next_offset = base_offset
        self._is_sealed = end_offset is not None
        self.end_offset = base_offset + RELATIVE_OFFSET_MAX + 1 if end_offset is None else end_offset
        self.size_bytes = size_bytes
        self._seeks = seeks
        self._offsets: list[tuple[int, int]] = []
        self._times: list[tuple[int, int]] = []
        self._at_offset = self._at_time = 0
        self._max_timestamp = NO_TIMESTAMP
        self.position = 0
        self.batches = 0
        self.bad: list[Bad] = []
        self.is_index_bad = False

    def expect(self, offsets: Buffer | None, times: Buffer | None) -> None:
        """Compare with these index files, as far as they are there."""
        base = self.base_offset
        if offsets is not None:
            self.is_index_bad |= len(offsets) % OFFSET_ENTRY.size != 0
            whole = memoryview(offsets)[: len(offsets) // OFFSET_ENTRY.size * OFFSET_ENTRY.size]
            self._offsets = [(last + base, position) for last, position in OFFSET_ENTRY.iter_unpack(whole)]
        if times is not None:
            self.is_index_bad |= len(times) % TIME_ENTRY.size != 0
            whole = memoryview(times)[: len(times) // TIME_ENTRY.size * TIME_ENTRY.size]
            self._times = [(timestamp, last + base) for timestamp, last in TIME_ENTRY.iter_unpack(whole)]

    @property
    def is_done(self) -> bool:
        return self.position >= self.size_bytes

    def step(self) -> Steps[int]:
        """Look at the next chunk; gives how many bytes that were."""
        before = self.position
        data: bytes = yield Read(self._file, before, min(CHUNK_BYTES, self.size_bytes - before))
        if not self._take(data):
            yield from self._take_one(data)
        if self.is_done:
            self._end()
        return self.position - before

    def _take(self, data: bytes) -> bool:
        """Good batches at the beginning of `data`; False if there is none."""
        at = 0
        while at + HEADER_BYTES <= len(data):
            header = read_header(data, at)
            if not self._is_plausible(header, self.position) or not is_valid(data, at, header):
                break
            self._note(header)
            at += header.size
        return at > 0

    def _is_plausible(self, header: BatchHeader, position: int) -> bool:
        return (
            header.magic == MAGIC
            and HEADER_BYTES <= header.size <= self.size_bytes - position
            and self.next_offset <= header.base_offset < self.end_offset
            and 0 <= header.last_offset_delta < self.end_offset - header.base_offset
        )

    def _note(self, header: BatchHeader) -> None:
        self._compare(header)
        self.batches += 1
        self.position += header.size
        self.next_offset = header.next_offset

    def _take_one(self, data: bytes) -> Steps[None]:
        """A batch that is larger than a chunk, or bad."""
        header = read_header(data) if len(data) >= HEADER_BYTES else None
        if header is not None and self._is_plausible(header, self.position):
            if header.size > len(data) and (yield from self._is_sound(header, self.position)):
                self._note(header)
                return
            behind = self.position + header.size
            if (following := (yield from self._begins_at(behind, header))) is not None:
                self._mark(behind, following)
                return
        behind, following = (yield from self._seek()) if self._seeks else (self.size_bytes, None)
        if following is None:
            # How far the log went on is known only where another segment does.
            following = self.end_offset if self._is_sealed else self.next_offset
        self._mark(behind, following)

    def _is_sound(self, header: BatchHeader, position: int) -> Steps[bool]:
        """The checksum of a batch that is read in parts."""
        crc, at, end = 0, position + ATTRIBUTES_AT, position + header.size
        while at < end:
            data: bytes = yield Read(self._file, at, min(CHUNK_BYTES, end - at))
            if not data:
                return False
            crc, at = crc32c(data, crc), at + len(data)
        return crc == header.crc

    def _begins_at(self, position: int, before: BatchHeader) -> Steps[int | None]:
        """The offset that is readable again behind a bad batch, if its length leads to the next one or to the end."""
        if position == self.size_bytes:
            return self.end_offset if self._is_sealed else before.next_offset
        data: bytes = yield Read(self._file, position, HEADER_BYTES)
        if len(data) < HEADER_BYTES:
            return None
        header = read_header(data)
        return header.base_offset if self._is_plausible(header, position) else None

    def _seek(self) -> Steps[tuple[int, int | None]]:
        """The next good batch, wherever it begins."""
        start = self.position + 1
        while start + HEADER_BYTES <= self.size_bytes:
            data: bytes = yield Read(self._file, start, min(SEEK_BYTES, self.size_bytes - start))
            at = data.find(_MAGIC_BYTE, _MAGIC_AT) - _MAGIC_AT
            while 0 <= at <= len(data) - HEADER_BYTES:
                header = read_header(data, at)
                if self._is_plausible(header, start + at) and (yield from self._is_sound(header, start + at)):
                    return start + at, header.base_offset
                at = data.find(_MAGIC_BYTE, at + 1 + _MAGIC_AT) - _MAGIC_AT
            start += max(len(data) - HEADER_BYTES + 1, 1)
        return self.size_bytes, None

    def _mark(self, behind: int, following: int) -> None:
        size_bytes = behind - self.position
        self.bad.append(Bad(self._file.path, self.position, size_bytes, self.next_offset, following))
        self.position = behind
        self.next_offset = max(self.next_offset, following)
        while self._at_offset < len(self._offsets) and self._offsets[self._at_offset][1] < behind:
            self._at_offset += 1
        while self._at_time < len(self._times) and self._times[self._at_time][1] < following:
            self._at_time += 1

    def _compare(self, header: BatchHeader) -> None:
        """What the indexes say of a good batch. An entry of Kafka's may name the last offset of several."""
        self._max_timestamp = max(self._max_timestamp, header.max_timestamp)
        while self._at_offset < len(self._offsets) and self._offsets[self._at_offset][1] <= self.position:
            last_offset, position = self._offsets[self._at_offset]
            self.is_index_bad |= position != self.position or not header.base_offset <= last_offset < self.end_offset
            self._at_offset += 1
        while self._at_time < len(self._times) and self._times[self._at_time][1] <= header.last_offset:
            timestamp, offset = self._times[self._at_time]
            self.is_index_bad |= timestamp != header.max_timestamp or offset < header.base_offset
            self._at_time += 1

    def _end(self) -> None:
        """Entries that are left speak of what is not there; the last one of a sealed segment names its newest time."""
        self.is_index_bad |= self._at_offset < len(self._offsets) or self._at_time < len(self._times)
        if self._is_sealed and self._times and not self.bad:
            self.is_index_bad |= self._times[-1][0] != self._max_timestamp


def verify_folder(folder: str, *, seeks: bool = True) -> Steps[list[SegmentCheck]]:
    """Every segment of a partition that nobody writes to."""
    listing = Listing((yield ListDir(folder)))
    bases = sorted(listing.of(LOG))
    checks = []
    for base_offset, end_offset in zip(bases, [*bases[1:], None], strict=False):
        file = File(path_of(folder, base_offset, LOG))
        check = SegmentCheck(file, base_offset, end_offset, listing.of(LOG)[base_offset], seeks=seeks)
        check.expect(
            (yield from read_file(path_of(folder, base_offset, INDEX))),
            (yield from read_file(path_of(folder, base_offset, TIME_INDEX))),
        )
        while not check.is_done:
            yield from check.step()
        checks.append(check)
    return checks
