"""What can be wrong with a batch: its bytes contradict themselves, or they are fine and not what a leader takes."""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode, PenstockError


class CorruptBatch(PenstockError):
    """The bytes are not what they claim to be. `position` is in the buffer, `offset` in the log."""

    def __init__(self, reason: str, *, position: int | None = None, offset: int | None = None) -> None:
        self.reason = reason
        self.position = position
        self.offset = offset
        super().__init__(reason)

    def __str__(self) -> str:
        where = "" if self.offset is None else f" at offset {self.offset}"
        place = "" if self.position is None else f" (position {self.position})"
        return f"corrupt batch{where}{place}: {self.reason}"


class BodyTooLarge(CorruptBatch):
    """A compressed body that would unpack to more bytes than its reader allows."""


class RecordError(ApiError):
    """Why a produced batch is refused; `record_errors` holds (index in the batch, message) of each record to blame."""

    def __init__(self, code: ErrorCode, message: str, record_errors: tuple[tuple[int, str], ...] = ()) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors
