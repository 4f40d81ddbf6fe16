"""The follower's side of a fetch session (KIP-227): the leader remembers what was asked, so that a request names only
what has changed since."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Final, Generic, NamedTuple, TypeVar

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
EPOCH_MAX: Final = 2**31 - 1

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Changes(NamedTuple, Generic[K, V]):
    """What a request has to say."""

    session_id: int
    epoch: int
    asked: dict[K, V]
    forgotten: list[K]


class FetchSessionHandler(Generic[K, V]):
    """What the leader knows of our wishes, as long as no request is lost."""

    __slots__ = ("_epoch", "_id", "known")

    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        # What was asked last; None where the leader has it and should be asked again, whatever it was.
        self.known: dict[K, V | None] = {}

    @property
    def is_new(self) -> bool:
        """The next request says everything, because the leader knows nothing."""
        return self._epoch == INITIAL_EPOCH

    def next(self, wanted: Mapping[K, V], unwanted: Iterable[K]) -> Changes[K, V]:
        """What to say so that the leader knows of `wanted` and has forgotten `unwanted`."""
        asked = {key: value for key, value in wanted.items() if self.known.get(key) != value}
        forgotten = [key for key in unwanted if key in self.known]
        self.known.update(asked)
        for key in forgotten:
            del self.known[key]
        return Changes(self._id, self._epoch, asked, forgotten)

    def doubt(self, key: K) -> None:
        """Say it again with the next request."""
        if key in self.known:
            self.known[key] = None

    def answered(self, session_id: int) -> None:
        """The leader has understood; without a session of its own it remembers nothing."""
        if session_id == NO_SESSION:
            self.lost()
            self._id = NO_SESSION
        else:
            self._id = session_id
            self._epoch = 1 if self._epoch == EPOCH_MAX else self._epoch + 1

    def lost(self) -> None:
        """Nobody knows what the leader knows. The old session is named once more, so that the leader drops it."""
        self._epoch = INITIAL_EPOCH
        self.known.clear()
