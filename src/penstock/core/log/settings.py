"""What a log asks of its topic's settings, and the bounds that all logs of a node share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from penstock.core.base.ports import FileFailure, Files, Steps
from penstock.core.base.steps import Tasks
from penstock.core.log.census import ProducerCensus
from penstock.core.log.damage import Damage, refuse_untorn
from penstock.core.log.index_file import IndexCache

if TYPE_CHECKING:
    from penstock.core.log.log import Log
    from penstock.core.log.segment import Segment
    from penstock.core.records.errors import CorruptBatch


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


def ignore_failure(log: Log, failure: FileFailure) -> None:
    """Nobody depends on the log."""


def ignore_bad_index(log: Log, segment: Segment) -> None:
    """Nobody wants to know."""


def ignore_lack(log: Log, offset: int) -> None:
    """Whoever cut it gets what is missing from its leader."""


def ignore_corruption(log: Log, error: CorruptBatch, offset: int) -> None:
    """Whoever asked hears of it."""


def nothing_to_do(*log: Log) -> Steps[None]:
    """Nothing depends on what was lost."""
    yield from ()


@dataclass(frozen=True, slots=True)
class LogContext:
    """What the logs of one node share: the disk, the driver of steps, the index cache, one broker setting, the count of
    producers, and whom to tell before a log that is opened loses what it should have, whom to ask whether it may be cut
    (who says no raises DamagedLog), and whom to tell when one has been cut, before it grows again, when a write has
    failed, when a log takes nothing any more, and when an index or a batch was found to be wrong, or
    batches to be missing before the place where it was cut."""

    files: Files
    tasks: Tasks
    index_cache: IndexCache
    producer_id_expiration_ms: int = 86_400_000
    census: ProducerCensus = field(default_factory=ProducerCensus)
    before_loss: Callable[[], Steps[None]] = nothing_to_do
    on_damage: Callable[[Damage], Steps[None]] = refuse_untorn
    after_cut: Callable[[Log], Steps[None]] = nothing_to_do
    on_loss: Callable[[Log, FileFailure], None] = ignore_failure
    on_failure: Callable[[Log, FileFailure], None] = ignore_failure
    on_bad_index: Callable[[Log, Segment], None] = ignore_bad_index
    on_lack: Callable[[Log, int], None] = ignore_lack
    on_corrupt: Callable[[Log, CorruptBatch, int], None] = ignore_corruption
