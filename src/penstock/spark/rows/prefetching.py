"""Running ahead: a thread produces what its reader will want next, up to a number of bytes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

# A thread that waits for a broker is not waited for: it ends with its next item, or with the process.
JOIN_SECONDS_MAX: Final = 1.0

T = TypeVar("T")


class Ahead(Generic[T]):
    """The items of an iterator, which runs in a thread of its own while the items that wait weigh less than
    `weight_max`. Closing it ends the thread before its next item; what the iterator raises is raised to the reader."""

    def __init__(self, items: Callable[[], Iterator[T]], weight: Callable[[T], int], weight_max: int) -> None:
        self._items = items
        self._weight = weight
        self._weight_max = weight_max
        self._waiting: deque[T] = deque()
        self._waiting_weight = 0
        self._failure: BaseException | None = None
        self._is_done = self._is_closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="penstock-prefetch", daemon=True)

    def __iter__(self) -> Iterator[T]:
        self._thread.start()
        try:
            while (item := self._next()) is not None:
                yield item
        finally:
            self.close()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join(JOIN_SECONDS_MAX)

    def _next(self) -> T | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_done)
            if not self._waiting:
                if self._failure is not None:
                    raise self._failure
                return None
            item = self._waiting.popleft()
            self._waiting_weight -= self._weight(item)
            self._changed.notify_all()
            return item

    def _run(self) -> None:
        try:
            for item in self._items():
                if not self._put(item):
                    return
        except BaseException as failure:
            self._failure = failure
        finally:
            with self._changed:
                self._is_done = True
                self._changed.notify_all()

    def _put(self, item: T) -> bool:
        """Whether anybody still wants more."""
        with self._changed:
            self._waiting.append(item)
            self._waiting_weight += self._weight(item)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_closed or self._waiting_weight < self._weight_max)
            return not self._is_closed
