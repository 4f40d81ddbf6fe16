"""One ShareFetch: it looks for records, waits for them, and is answered together with its acknowledgements."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.ports import FileFailure, Steps
from penstock.core.node.deadlines import Deadline
from penstock.core.node.serving.slots import Slot
from penstock.core.node.sharing.acknowledging import Codes
from penstock.core.node.sharing.led_share import LedShare
from penstock.core.node.sharing.ports import SharingHost
from penstock.core.node.sharing.reading import Piece, read_piece
from penstock.core.node.sharing.share_sessions import Place
from penstock.core.partition.readers import Reader
from penstock.core.records.errors import CorruptBatch
from penstock.core.sharing.acquiring import Acquired, len_of
from penstock.core.sharing.asked import Wanted
from penstock.core.wire.api.share_fetch import ShareFetchRequest

RECORD_LIMIT = 1
"""The acquire mode in which no more records are given than were asked for."""


class Found(NamedTuple):
    """What a member gets of a partition."""

    piece: Piece
    acquired: list[Acquired]


class Answers(Protocol):
    """Who turns what was found into a response."""

    def share_of(self, group_id: str, place: Place) -> LedShare: ...

    def check_right(self, fetch: ShareFetch, place: Place) -> None: ...

    def reader_of(self, group_id: str) -> Reader: ...

    def answer(self, fetch: ShareFetch) -> None: ...


class _Read(NamedTuple):
    place: Place
    share: LedShare
    offset: int
    piece: Piece


class ShareFetch:
    """A request and how far it is. It ends once, by `_finish` or `cancel`."""

    def __init__(
        self, node: SharingHost, owner: Answers, request: ShareFetchRequest, slot: Slot, places: list[Place], limit: int
    ) -> None:
        self.request = request
        self.slot = slot
        self.places = places
        self.errors: dict[Place, ErrorCode] = {}
        self.found: dict[Place, Found] = {}
        self.codes: Codes | None = None
        """What became of the acknowledgements, once that is known."""
        self.is_over = False
        self._node = node
        self._owner = owner
        self._limit = limit
        self._shares: dict[Place, LedShare] = {}
        self._news = dict.fromkeys(places)
        """Where there may be something: nothing else is looked at."""
        self._has_all = not places or request.max_records <= 0 or limit <= 0
        self._is_late = request.max_wait_ms <= 0
        self._looking = False
        self._woken = False
        self._deadline: Deadline | None = None

    @property
    def group_id(self) -> str:
        return self.request.group_id or ""

    @property
    def member_id(self) -> str:
        return self.request.member_id or ""

    # From outside

    def begin(self) -> None:
        if not self._has_all and not self._is_late:
            self._deadline = self._node.deadlines.at(self._node.now_ms + self.request.max_wait_ms, self._too_late)
        self._look()

    def acknowledged(self, codes: Codes) -> None:
        self.codes = codes
        self._finish()

    def wake(self, place: Place) -> None:
        """There may be something now. It looks when everybody was heard."""
        self._news[place] = None
        if not self._woken and not self.is_over:
            self._woken = True
            self._node.deadlines.soon(self._awake)

    def cancel(self) -> None:
        """Its connection is gone."""
        self._leave()

    # Looking

    def _awake(self) -> None:
        self._woken = False
        self._look()

    def _too_late(self) -> None:
        self._is_late = True
        self._look()

    def _look(self) -> None:
        if self.is_over or self._looking:
            return
        if not self._has_all:
            places, self._news = list(self._news), {}
            self._find_shares(places)
            self._looking = True
            self._node.tasks.run(self._gather(places), self._gathered)
        else:
            self._finish()

    def _find_shares(self, places: list[Place]) -> None:
        """Those that are led here; one that has ended is looked for anew, and may be elsewhere."""
        for place in places:
            try:
                self._owner.check_right(self, place)
                if place in self.errors:
                    continue
                share = self._shares.get(place)
                if share is not None and share.failure is not None:
                    del self._shares[place]
                    if share.failure is not ErrorCode.NONE:
                        raise ApiError(share.failure)
                    # Its coordinator cannot be asked now; the next fetch tries again.
                    continue
                if share is None:
                    share = self._shares[place] = self._owner.share_of(self.group_id, place)
                    share.waiters[self] = None
            except ApiError as error:
                self.errors[place] = error.code

    def _gather(self, places: list[Place]) -> Steps[None]:
        """Read first and give out afterwards: only then is it known whether there is enough."""
        reads: list[_Read] = []
        try:
            for place in places:
                share = self._shares.get(place)
                if share is None or place in self.errors:
                    continue
                share.follow_log()
                if not share.has_records():
                    continue
                # What is left over, or not taken, is still there when this one looks again.
                self._news[place] = None
                room = self._limit - sum(each.piece.size for each in reads)
                if room > 0:
                    yield from self._read(place, share, room, reads)
            if not self.is_over and (self._is_late or self._is_enough(reads)):
                self._take(reads)
        finally:
            for each in reads:
                each.share.was_read()

    def _read(self, place: Place, share: LedShare, room: int, reads: list[_Read]) -> Steps[None]:
        assert share.machine is not None
        offset = share.machine.next_fetch_offset()
        enough = max(offset, share.machine.end_offset) + self.request.max_records - 1
        share.busy = True
        reader = self._owner.reader_of(self.group_id)
        try:
            piece = yield from read_piece(share.partition, offset, enough, room, reader, first=not reads)
        except (ApiError, FileFailure, CorruptBatch) as error:
            share.was_read()
            self._read_failed(place, error)
            return
        if piece is None:
            share.was_read()
        else:
            reads.append(_Read(place, share, offset, piece))

    def _read_failed(self, place: Place, error: Exception) -> None:
        """Records that are gone meanwhile are passed over when the log is looked at again."""
        if isinstance(error, ApiError) and error.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
            self.errors[place] = error.code
        elif isinstance(error, CorruptBatch):
            self.errors[place] = ErrorCode.CORRUPT_MESSAGE
        elif isinstance(error, FileFailure):
            self.errors[place] = ErrorCode.KAFKA_STORAGE_ERROR

    def _is_enough(self, reads: list[_Read]) -> bool:
        size = sum(each.piece.size for each in reads)
        return bool(self.errors) or size >= min(self.request.min_bytes, self._limit)

    def _take(self, reads: list[_Read]) -> None:
        left = self.request.max_records
        for place, share, offset, piece in reads:
            if left <= 0:
                return
            wanted = Wanted(
                self.member_id, left, self.request.batch_size, self.request.share_acquire_mode == RECORD_LIMIT
            )
            acquired = share.acquire(wanted, offset, piece.batches, piece.aborted)
            if acquired:
                self.found[place] = Found(piece, acquired)
                left -= sum(map(len_of, acquired))
            elif share.machine is not None and share.machine.next_fetch_offset() != offset:
                # There was nothing but what nobody gets.
                self.wake(place)

    def _gathered(self, outcome: object) -> None:
        self._looking = False
        if isinstance(outcome, Exception):
            self._node.log("error", "sharing", f"a share fetch failed: {outcome!r}")
            self.errors = dict.fromkeys(self.places, ErrorCode.UNKNOWN_SERVER_ERROR)
        if self.found or self._is_late or len(self.errors) == len(self.places) or isinstance(outcome, Exception):
            self._has_all = True
            self._finish()

    # The end

    def _finish(self) -> None:
        if self._has_all and self.codes is not None and not self.is_over and not self._looking:
            self._leave()
            self._owner.answer(self)

    def _leave(self) -> None:
        self.is_over = True
        if self._deadline is not None:
            self._deadline.cancel()
        for share in self._shares.values():
            share.waiters.pop(self, None)
