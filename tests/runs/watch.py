"""What hangs is found by one thread that watches all tests of a process: pytest-timeout's own way is a new thread for
each test, which costs more than most tests do."""

from __future__ import annotations

import threading
import time

import pytest
import pytest_timeout

LOOK_INTERVAL_S = 1.0


class Watch:
    """Ends the process, as pytest-timeout does, when a test takes too long."""

    def __init__(self) -> None:
        self._watched: tuple[float, pytest.Item, pytest_timeout.Settings] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)

    def pytest_sessionstart(self) -> None:
        self._thread.start()

    def pytest_sessionfinish(self) -> None:
        """It may be about to end the process at this very moment; after this it is not."""
        self._ended.set()
        self._thread.join()

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: pytest_timeout.Settings) -> bool | None:
        if settings.method != "thread":
            return None
        self._watched = (time.monotonic() + settings.timeout, item, settings)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_cancel_timer(self) -> None:
        """The plugin's own implementation comes behind, for the timers that it has set."""
        self._watched = None

    def _look(self) -> None:
        while not self._ended.wait(LOOK_INTERVAL_S):
            watched = self._watched
            if watched is not None and time.monotonic() > watched[0]:
                pytest_timeout.timeout_timer(*watched[1:])
