"""One replica at a time, on a disk in memory, with everybody else played by the test."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import Pause
from penstock.core.base.settings import TopicSettings
from penstock.core.log.log import Log
from penstock.core.partition.follower import Follower
from penstock.core.partition.in_sync import Assignment, Proposal
from penstock.core.partition.partition import Appended, Partition
from penstock.core.partition.replicated import Fetched, LeaderContext, ReplicatedLeader
from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.wire.api.fetch import EpochEndOffset, PartitionData
from tests.log.helpers import TOPIC_ID, new_log
from tests.log.memory_files import MemoryFiles
from tests.metadata.cluster import SETTINGS

NOW_MS = 1_700_000_000_000
LAG_MS_MAX = 1_000
LEADER = 1


class Everyone:
    """Brokers 2 and 3 are alive in their first life, unless the test says otherwise."""

    def __init__(self) -> None:
        self.epochs: dict[int, int] = {LEADER: 10, 2: 20, 3: 30}
        self.racks: dict[int, str] = {}

    def live_epoch(self, broker_id: int) -> int | None:
        return self.epochs.get(broker_id)

    def rack_of(self, broker_id: int) -> str | None:
        return self.racks.get(broker_id)


class Told:
    """A producer that waits: what it was told."""

    def __init__(self) -> None:
        self.codes: list[ErrorCode] = []

    def committed(self, partition: Partition, error: ErrorCode) -> None:
        self.codes.append(error)


def settings_of(**overrides: str) -> TopicSettings:
    given = {"min_insync_replicas": "2", **overrides}
    return TopicSettings(SETTINGS, {key.replace("_", "."): value for key, value in given.items()})


def assignment(
    epoch: int = 5, *, isr: tuple[int, ...] = (1, 2, 3), partition_epoch: int = 7, **changes: Any
) -> Assignment:
    values: dict[str, Any] = {"leader": LEADER, "replicas": (1, 2, 3), **changes}
    return Assignment(leader_epoch=epoch, partition_epoch=partition_epoch, isr=isr, **values)


class Stage:
    """A leader of three replicas, whose log may hold something from before."""

    def __init__(self, filled: int = 0, known: int = 0, slow: bool = False, **overrides: str) -> None:
        self.files = MemoryFiles()
        self.log = new_log(self.files, settings_of(**overrides))  # type: ignore[arg-type]  # both are log settings
        for _ in range(filled):
            self.write(self.log, b"before", epoch=4)
        self.brokers = Everyone()
        self.now_ms = NOW_MS
        self.has_lease = True
        self.around = LeaderContext(LEADER, 10, self.brokers, lambda: self.now_ms, lambda: self.has_lease, LAG_MS_MAX)
        self._known = known
        self._overrides = overrides
        if slow:
            self.files.pending.append((self.log.active.log, Pause(), lambda _: None))

    def write(self, log: Log, value: bytes, epoch: int) -> None:
        batch = build_batch([(None, value, (), NOW_MS)])
        log.append(batch, read_header(batch), epoch, NOW_MS)

    def lead(self, given: Assignment | None = None) -> ReplicatedLeader:
        settings = settings_of(**self._overrides)
        return ReplicatedLeader(
            "orders", 0, TOPIC_ID, self.log, settings, given or assignment(), self.around, self._known
        )

    def follow(self, given: Assignment | None = None, *, may_lose: bool = False) -> Follower:
        given = given or assignment(leader=2)
        settings = settings_of(**self._overrides)
        return Follower("orders", 0, TOPIC_ID, self.log, settings, given, self._known, may_lose=may_lose)

    def asked(self) -> Proposal | None:
        """What the controller is asked, taken out as whoever asks it does."""
        found = list(self.around.proposals.values())
        self.around.proposals.clear()
        return found[0] if found else None


def produce(leader: Partition, *values: bytes, acks: int = -1, now_ms: int = NOW_MS) -> Appended:
    batch = build_batch([(None, value, (), NOW_MS) for value in values])
    return leader.append(memoryview(batch), 9, now_ms, acks)


def fetched(replica: int, offset: int, last_epoch: int = -1, broker_epoch: int | None = None) -> Fetched:
    return Fetched(replica, replica * 10 if broker_epoch is None else broker_epoch, offset, last_epoch, 0)


def batch_at(offset: int, epoch: int, *values: bytes) -> bytes:
    """A batch as a leader's log has it."""
    return bytes(build_batch([(None, value, (), NOW_MS) for value in values], base_offset=offset, leader_epoch=epoch))


def answer(records: bytes = b"", high_watermark: int = 0, start: int = 0, **changes: Any) -> PartitionData:
    said: dict[str, Any] = {"high_watermark": high_watermark, "log_start_offset": start, **changes}
    return PartitionData(partition_index=0, error_code=0, records=records, **said)


def parts_at(epoch: int, end_offset: int) -> PartitionData:
    return answer(diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end_offset))


def refused(code: ErrorCode, start: int = -1) -> PartitionData:
    return PartitionData(partition_index=0, error_code=code, high_watermark=-1, log_start_offset=start, records=b"")
