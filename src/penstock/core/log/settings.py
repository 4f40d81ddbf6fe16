"""What a log asks of its topic's settings, and the bounds that all logs of a node share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.core.base.ports import FileFailure, Files, Steps
from penstock.core.base.steps import Tasks
from penstock.core.log.index_file import IndexCache

if TYPE_CHECKING:
    from penstock.core.log.log import Log


class LogSettings(Protocol):
    """The topic settings that act on files; replaceable while the log runs."""

    @property
    def segment_bytes(self) -> int: ...
    @property
    def segment_ms(self) -> int: ...
    @property
    def segment_jitter_ms(self) -> int: ...
    @property
    def segment_index_bytes(self) -> int: ...
    @property
    def index_interval_bytes(self) -> int: ...
    @property
    def cleanup_policy(self) -> Collection[str]: ...
    @property
    def retention_ms(self) -> int: ...
    @property
    def retention_bytes(self) -> int: ...
    @property
    def delete_retention_ms(self) -> int: ...
    @property
    def min_compaction_lag_ms(self) -> int: ...
    @property
    def max_compaction_lag_ms(self) -> int: ...
    @property
    def min_cleanable_dirty_ratio(self) -> float: ...
    @property
    def sealed_compression_type(self) -> str: ...
    @property
    def sealed_compression_level(self) -> int | None: ...
    @property
    def file_delete_delay_ms(self) -> int: ...
    @property
    def flush_messages(self) -> int: ...
    @property
    def flush_ms(self) -> int: ...


def nobody_minds(log: Log, failure: FileFailure) -> None:
    """Nobody depends on the log."""


def nobody_cares(*log: Log) -> Steps[None]:
    """Nothing depends on what was lost."""
    yield from ()


@dataclass(frozen=True, slots=True)
class LogContext:
    """What the logs of one node share: the disk, the driver of steps, the index cache, one broker setting, and whom to
    tell before a log that is opened loses what it should have, when one has been cut, before it grows again, when a
    write has failed, and when a log takes nothing any more."""

    files: Files
    tasks: Tasks
    index_cache: IndexCache
    producer_id_expiration_ms: int = 86_400_000
    before_loss: Callable[[], Steps[None]] = nobody_cares
    after_cut: Callable[[Log], Steps[None]] = nobody_cares
    on_loss: Callable[[Log, FileFailure], None] = nobody_minds
    on_failure: Callable[[Log, FileFailure], None] = nobody_minds
