"""Runs are known by a compacted topic: each tells it every two seconds how it is, and looks there for requests.

There is one key for each pipeline's run and one for a request to stop it, so that what remains after compaction is the
present. A run whose heart has not beaten for some seconds is lost. The times are the broker's, which every host shares.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, Final

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.producing import Producer
from penstock.client.reading import Reader
from penstock.core.base.errors import ErrorCode
from penstock.core.records.record import Record

TOPIC_NAME: Final = "_penstock_pipelines"
HEARTBEAT_S: Final = 2.0
# Three beats may be missed; the fourth is waited for no longer.
LOST_AFTER_MS: Final = 7_000
CLAIM_WAIT_MS: Final = 500
PLACE: Final = TopicPartition(TOPIC_NAME, 0)
CONFIGS: Final = {
    "cleanup.policy": "compact",
    "message.timestamp.type": "LogAppendTime",
    "segment.bytes": str(4 * 1024 * 1024),
    "segment.ms": str(60 * 60 * 1000),
    "min.cleanable.dirty.ratio": "0.1",
}


class State(StrEnum):
    """What a run says of itself, or what is said of it when it says nothing any more (LOST)."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FINISHED = "finished"
    FAILED = "failed"
    LOST = "lost"

    @property
    def is_alive(self) -> bool:
        return self in {State.STARTING, State.RUNNING, State.STOPPING}


@dataclass(frozen=True)
class Run:
    """One run of a pipeline, as it last told; `heartbeat_ms` is when the broker heard it."""

    pipeline: str
    run: str
    host: str
    pid: int
    master: str
    started_ms: int
    state: State = State.STARTING
    query: str | None = None
    batch: int | None = None
    rows: int = 0
    rows_per_second: float = 0.0
    dead_letters: int = 0
    lag: int | None = None
    error: str | None = None
    heartbeat_ms: int = 0

    def seen_at(self, now_ms: int) -> Run:
        """This run as it is now: one that should be heard and is not is lost."""
        silent = now_ms - self.heartbeat_ms > LOST_AFTER_MS
        return replace(self, state=State.LOST) if self.state.is_alive and silent else self


@dataclass(frozen=True)
class Picture:
    """What the topic says: the last run of each pipeline, and the run that each was last asked to stop."""

    runs: dict[str, Run]
    stops: dict[str, str]

    def take(self, record: Record) -> None:
        """Replay one record; what somebody else has written here is none of ours."""
        what, _, pipeline = (record.key or b"").decode("utf-8", "replace").partition(":")
        value = _object(record.value)
        if what == "stop" and isinstance(value.get("run"), str):
            self.stops[pipeline] = value["run"]
        elif what == "run" and (run := run_of(value, record.timestamp)) is not None:
            self.runs[pipeline] = run

    def is_asked_to_stop(self, run: Run) -> bool:
        return self.stops.get(run.pipeline) == run.run


def run_of(value: dict[str, Any], heartbeat_ms: int) -> Run | None:
    """A run from its record; fields of a later version are left out."""
    names = {field.name for field in fields(Run)}
    known = {name: one for name, one in value.items() if name in names}
    try:
        return Run(**known | {"state": State(known["state"]), "heartbeat_ms": heartbeat_ms})
    except (KeyError, TypeError, ValueError):
        return None


def run_record(run: Run) -> tuple[bytes, bytes]:
    value = asdict(run)
    del value["heartbeat_ms"]
    return f"run:{run.pipeline}".encode(), json.dumps(value).encode()


def stop_record(run: Run) -> tuple[bytes, bytes]:
    return f"stop:{run.pipeline}".encode(), json.dumps({"run": run.run}).encode()


class Registry:
    """The topic, for one thread."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._producer = Producer(client)
        self._reader: Reader | None = None
        self.picture = Picture({}, {})

    def create(self) -> None:
        try:
            Admin(self._client).create_topic(TOPIC_NAME, 1, configs=CONFIGS)
        except ClientError as failure:
            if failure.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        self._client.topic(TOPIC_NAME)

    def read(self) -> Picture:
        """Everything up to the present end; an empty picture where no run has ever been."""
        try:
            first, end = edges(self._client, [PLACE])[PLACE]
        except ClientError as failure:
            if failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            return self.picture
        if self._reader is None:
            self._reader = Reader(self._client, {PLACE: first})
        while self._reader.positions[PLACE] < end:
            self.follow(wait_ms=0)
        return self.picture

    def follow(self, wait_ms: int) -> list[Record]:
        """What is new, waited for so long at most."""
        assert self._reader is not None, "the topic is read before it is followed"
        records = [record for chunk in self._reader.poll(wait_ms) for record in chunk.records]
        for record in records:
            self.picture.take(record)
        return records

    def claim(self, run: Run, now_ms: int) -> Run:
        """Announce a run, unless another of its pipeline is alive; gives the one that may go on.

        Two that start at once both find nobody. The order of the log decides between them.
        """
        other = self.read().runs.get(run.pipeline)
        if other is not None and other.seen_at(now_ms).state.is_alive:
            return other
        self.tell(run)
        while True:
            for record in self.follow(wait_ms=CLAIM_WAIT_MS):
                announced = run_of(_object(record.value), record.timestamp)
                if announced is not None and announced.pipeline == run.pipeline and announced.state.is_alive:
                    return announced

    def tell(self, run: Run) -> None:
        self._write(*run_record(run))

    def ask_to_stop(self, run: Run) -> None:
        self._write(*stop_record(run))

    def _write(self, key: bytes, value: bytes) -> None:
        self._producer.send(TOPIC_NAME, key, value, partition=0)
        self._producer.flush()


def _object(value: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(value or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
