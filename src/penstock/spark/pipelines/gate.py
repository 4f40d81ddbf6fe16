"""Where batches pass, and where they stop: a graceful end finishes the batch that runs and lets no other begin.

Spark has no such thing. `query.stop()` interrupts whatever runs, and a batch that was interrupted is done again after
the restart. So batches go through a gate: once it is closed, the next one is refused before it has done anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.pipelines.handing import Ledger


class GateClosed(Exception):
    """Raised to Spark for the batch that came after the last one; it must never count as done."""


class Gate:
    """What `foreachBatch` calls."""

    def __init__(self, write: Callable[[DataFrame, int], None], ledger: Ledger | None = None) -> None:
        """The ledger is where tasks tell of batches that are exactly once."""
        self._write = write
        self.ledger = ledger
        self._closed = threading.Event()
        self._refused = threading.Event()

    def __call__(self, frame: DataFrame, number: int) -> None:
        if self._closed.is_set():
            self._refused.set()
            raise GateClosed(f"batch {number} is left for the next run")
        self._write(frame, number)

    def close(self) -> None:
        self._closed.set()

    @property
    def has_refused(self) -> bool:
        """Whether a batch has come to the closed gate: then everything before it is committed."""
        return self._refused.is_set()
