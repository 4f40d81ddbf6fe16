"""The protocol of transactions, changed up and down while they are open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from tests.client.test_transactional import set_level

LEVELS = (1, 2, 0, 2)
PAUSE_S = 1.5


class Changing:
    """Sets `transaction.version` to one level after the other, as often as the cluster can be asked."""

    def __init__(self, bootstrap: str) -> None:
        self.changes = 0
        self._bootstrap = bootstrap
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._change, name="levels", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _change(self) -> None:
        for level in cycle(LEVELS):
            while not self._is_over.wait(PAUSE_S):
                try:
                    with Client(self._bootstrap) as client:
                        set_level(client, level)
                except (ClientError, AssertionError, OSError):
                    # Whoever could say so is away.
                    continue
                self.changes += 1
                break
            else:
                return


@contextmanager
def changing(bootstrap: str) -> Iterator[Changing]:
    levels = Changing(bootstrap)
    levels.start()
    try:
        yield levels
    finally:
        levels.stop()
