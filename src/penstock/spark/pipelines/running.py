"""Runs of pipelines, each from its claim in the registry to its last word there.

The main thread starts Spark and waits; a thread for each pipeline starts its query and watches it; its heartbeat tells
and listens; Spark's own thread brings the batches through the gate. A run ends in one of three ways: stopped (asked by
a signal or by somebody elsewhere), finished (everything that was there is done), or failed.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.client.pipeline_runs import Registry, Run, State
from penstock.core.base.errors import PenstockError
from penstock.spark.pipelines import encoding, frames
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.deadletters import create_topics
from penstock.spark.pipelines.declaration import AvailableNow, Every, Pipeline, Trigger
from penstock.spark.pipelines.gate import Gate
from penstock.spark.pipelines.heartbeat import Heartbeat
from penstock.spark.pipelines.sinks import write_batch
from penstock.spark.pipelines.watching import STOP_TIMEOUT_MS, Watch, Watcher
from penstock.spark.session import LOCAL_ALL_CORES, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

STREAMING: Final = {
    "spark.sql.streaming.stopTimeout": str(STOP_TIMEOUT_MS),
    # Asked for several times a second, so it is kept short.
    "spark.sql.streaming.numRecentProgressUpdates": "20",
}
START_ALONE_S_MAX: Final = 30.0
START_POLL_S: Final = 0.1
STARTS_MAX: Final = 5
PYTHON_WAS_LATE: Final = "Python worker failed to connect back"
_ONE_STARTS: Final = threading.Lock()
NOISY_WHEN_FAILING: Final = (
    "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution",
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
)
STATE_VARIABLE: Final = "PENSTOCK_STATE_DIR"


class AlreadyRunning(PenstockError):
    """The pipeline runs somewhere else."""


@dataclass(frozen=True)
class Settings:
    """How to run, as opposed to what."""

    bootstrap: str
    master: str | None = None
    once: bool = False
    checkpoints: str | None = None
    verbose: bool = False
    # A client's, by Kafka's names: how to get in.
    client: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def cluster(self) -> Cluster:
        return Cluster(self.bootstrap, self.client)


def checkpoint_of(pipeline: Pipeline, settings: Settings, environment: Mapping[str, str] = os.environ) -> str:
    """The folder of the query's progress: as declared, or named after the pipeline below a folder for them all."""
    if pipeline.checkpoint is not None:
        return pipeline.checkpoint
    if settings.checkpoints is not None:
        return f"{settings.checkpoints.rstrip('/')}/{pipeline.name}"
    home = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    root = environment.get(STATE_VARIABLE) or f"{home}/penstock"
    return f"{root}/checkpoints/{pipeline.name}"


def trigger_arguments(trigger: Trigger, once: bool) -> dict[str, Any]:
    """How Spark spells a trigger."""
    if once or isinstance(trigger, AvailableNow):
        return {"availableNow": True}
    assert isinstance(trigger, Every), "there is no third kind"
    return {"processingTime": f"{round(trigger.seconds * 1000)} milliseconds"}


def run(pipeline: Pipeline, settings: Settings, watch: Watcher) -> Run:
    """Run until it is stopped or finished; raises PipelineFailed when it fails."""
    return run_together([pipeline], settings, watch)[0]


def run_together(pipelines: Sequence[Pipeline], settings: Settings, watch: Watcher) -> list[Run]:
    """Run several in one session. Each ends by itself; when all have, the first failure is raised."""
    hearts: list[Heartbeat] = []
    try:
        for pipeline in pipelines:
            hearts.append(Heartbeat(settings.cluster, _announce(pipeline, settings)))
            hearts[-1].start()
        with _stopped_by_signals(hearts):
            _run_spark(pipelines, settings, hearts, watch)
    except BaseException as failure:
        for heart in hearts:
            if heart.run.state.is_alive:
                heart.stop(State.FAILED, str(failure) or type(failure).__name__)
        raise
    return [heart.run for heart in hearts]


def _announce(pipeline: Pipeline, settings: Settings) -> Run:
    """Claim the pipeline, and prepare what it needs in the cluster."""
    me = Run(
        pipeline=pipeline.name,
        run=uuid.uuid4().hex,
        host=socket.gethostname(),
        pid=os.getpid(),
        master=settings.master or LOCAL_ALL_CORES,
        started_ms=_now_ms(),
    )
    with settings.cluster.client("penstock-pipeline") as client:
        create_topics(pipeline, client)
        registry = Registry(client)
        registry.create()
        winner = registry.claim(me, _now_ms())
    if winner.run != me.run:
        raise AlreadyRunning(
            f"pipeline {pipeline.name} already runs on {winner.host} (process {winner.pid}): "
            f"stop it first with `penstock pipeline stop {pipeline.name}`"
        )
    return me


def _run_spark(pipelines: Sequence[Pipeline], settings: Settings, hearts: Sequence[Heartbeat], watch: Watcher) -> None:
    name = "-".join(["penstock", *(pipeline.name for pipeline in pipelines)])
    spark = session(name, master=settings.master, settings=spark_settings(pipelines))
    try:
        # Spark has just put its own handler for SIGINT in place of ours.
        with _stopped_by_signals(hearts), ThreadPoolExecutor(len(pipelines), "pipeline") as threads:
            if not settings.verbose:
                _silence(spark, NOISY_WHEN_FAILING)
            pairs = zip(pipelines, hearts, strict=True)
            ends = [threads.submit(_run_query, one, settings, spark, heart, watch) for one, heart in pairs]
        for end in ends:
            end.result()
    finally:
        spark.stop()


def spark_settings(pipelines: Sequence[Pipeline]) -> dict[str, str]:
    """One session has one set of settings: pipelines that disagree cannot share it."""
    chosen: dict[str, str] = {}
    for pipeline in pipelines:
        for name, value in pipeline.settings.items():
            if chosen.setdefault(name, value) != value:
                raise PenstockError(
                    f"{name} is {chosen[name]} for one pipeline and {value} for {pipeline.name}: run them apart"
                )
    return STREAMING | chosen


def _run_query(pipeline: Pipeline, settings: Settings, spark: SparkSession, heart: Heartbeat, watch: Watcher) -> None:
    """The life of one query, in a thread of its own."""
    try:
        state = _until_the_end(pipeline, settings, spark, heart, watch)
    except BaseException as failure:
        heart.stop(State.FAILED, str(failure) or type(failure).__name__)
        watch(heart.run, None)
        raise
    heart.stop(state)
    watch(heart.run, None)


def _until_the_end(
    pipeline: Pipeline, settings: Settings, spark: SparkSession, heart: Heartbeat, watch: Watcher
) -> State:
    if heart.stop_asked.is_set():
        return State.STOPPED
    gate = gate_of(pipeline, settings)
    with _ONE_STARTS:
        query = start_patiently(lambda: start_query(pipeline, settings, spark, gate), heart)
    heart.update(state=State.RUNNING, query=str(query.id))
    return Watch(pipeline.name, query, gate, heart, watch).until_the_end()


def start_patiently(start: Callable[[], StreamingQuery], heart: Heartbeat) -> StreamingQuery:
    """Start a query, again if need be.

    Spark gives the Python half of a source ten seconds to come up, which a busy machine may not keep. Such a query has
    done nothing yet. For the same reason those of one session start one after the other.
    """
    for _ in range(STARTS_MAX):
        query = start()
        _wait_for_first_trigger(query, heart)
        if query.isActive or PYTHON_WAS_LATE not in str(query.exception()):
            break
    return query


def _wait_for_first_trigger(query: StreamingQuery, heart: Heartbeat) -> None:
    deadline = time.monotonic() + START_ALONE_S_MAX
    while query.isActive and not _has_answered(query) and time.monotonic() < deadline:
        if heart.stop_asked.wait(START_POLL_S):
            return


def _has_answered(query: StreamingQuery) -> bool:
    """Whether its sources have said how far there is to read; progress is told also when there is nothing."""
    return bool(query.status["isDataAvailable"]) or query.lastProgress is not None


def _silence(spark: SparkSession, loggers: Sequence[str]) -> None:
    """Spark tells of one failure three times, with stacks; the line that we say names what matters."""
    log4j: Any = spark.sparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]  # There is a JVM here.
    for logger in loggers:
        log4j.core.config.Configurator.setLevel(logger, log4j.Level.OFF)


def gate_of(pipeline: Pipeline, settings: Settings) -> Gate:
    """The gate through which batches reach the pipeline's sinks."""

    from penstock.spark.pipelines.delivering import Delivering, is_exactly_once
    from penstock.spark.pipelines.handing import Ledger

    if not is_exactly_once(pipeline):
        return Gate(lambda frame, number: write_batch(pipeline, frame, number, settings.cluster))
    ledger = Ledger()
    delivering = Delivering(pipeline, settings.cluster, checkpoint_of(pipeline, settings), ledger)

    def write(frame: DataFrame, number: int) -> None:
        def to_all() -> None:
            write_batch(pipeline, frame, number, settings.cluster, delivering)

        delivering.batch(frame, number, to_all)

    return Gate(write, ledger)


def start_query(pipeline: Pipeline, settings: Settings, spark: SparkSession, gate: Gate) -> StreamingQuery:
    """The query of a pipeline, started: for a session that is there, without registry and heartbeat."""
    frame = frames.build(pipeline, spark, settings.cluster, gate.ledger)
    encoding.register(pipeline, frame.schema)
    writer = frame.writeStream.queryName(pipeline.name).outputMode(pipeline.mode)
    writer = writer.option("checkpointLocation", checkpoint_of(pipeline, settings))
    return writer.trigger(**trigger_arguments(pipeline.trigger, settings.once)).foreachBatch(gate).start()


@contextmanager
def _stopped_by_signals(hearts: Sequence[Heartbeat]) -> Iterator[None]:
    """SIGINT and SIGTERM ask all for a graceful end; a second SIGINT does not ask."""

    def ask(number: int, _: object) -> None:
        if number == signal.SIGINT and all(heart.stop_asked.is_set() for heart in hearts):
            raise KeyboardInterrupt
        for heart in hearts:
            heart.stop_asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _now_ms() -> int:
    return int(time.time() * 1000)
