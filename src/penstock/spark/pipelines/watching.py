"""A query that runs, watched: its progress is passed on, it is ended when that is asked for, its death is explained."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from penstock.client.pipeline_runs import Run, State
from penstock.core.base.errors import PenstockError
from penstock.spark.pipelines.failures import failure_line
from penstock.spark.pipelines.gate import Gate
from penstock.spark.pipelines.heartbeat import Heartbeat
from penstock.spark.pipelines.progress import LATEST, Batch, batch_of, lag_of, news, positions_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

WATCH_S: Final = 0.2
STOP_POLL_S: Final = 0.02
# Spark is given this long to end a query that was interrupted in its work.
STOP_TIMEOUT_MS: Final = 60_000

Watcher = Callable[[Run, Batch | None], None]


class PipelineFailed(PenstockError):
    """The query died; the line names its offsets."""


class Watch:
    """Follows a running query: passes its progress on, and ends it when that is asked for."""

    def __init__(self, pipeline: str, query: StreamingQuery, gate: Gate, heart: Heartbeat, watch: Watcher) -> None:
        self._pipeline = pipeline
        self._query = query
        self._gate = gate
        self._heart = heart
        self._watch = watch
        self._last_batch = -1

    def until_the_end(self) -> State:
        while self._query.isActive and not self._heart.stop_asked.wait(WATCH_S):
            self._report()
        if self._query.isActive:
            self._stop()
            self._report()
            return State.STOPPED
        self._report()
        self._raise_failure()
        if self._gate.has_refused:
            return State.STOPPED
        if self._heart.run.batch is None:
            # Spark tells nothing of a query that found nothing to do, which is that nothing was left.
            self._heart.update(lag=0)
        return State.FINISHED

    def _stop(self) -> None:
        """Finish the batch that runs, begin no other."""
        self._heart.update(state=State.STOPPING)
        self._watch(self._heart.run, None)
        self._gate.close()
        while self._query.isActive and not self._gate.has_refused and self._query.status["isTriggerActive"]:
            time.sleep(STOP_POLL_S)
        if self._gate.has_refused:
            # The refusal ends the query by itself; stopping it too would only interrupt that.
            self._wait_for_end()
        self._query.stop()
        self._raise_failure()

    def _wait_for_end(self) -> None:
        deadline = time.monotonic() + STOP_TIMEOUT_MS / 1000
        while self._query.isActive and time.monotonic() < deadline:
            time.sleep(STOP_POLL_S)

    def _report(self) -> None:
        """Tell of each batch that is done and has not been told of."""
        newest = self._query.lastProgress
        if newest is None or newest.batchId <= self._last_batch:
            return
        reports = [json.loads(report.json) for report in self._query.recentProgress]
        for report in news(reports, self._last_batch):
            batch = batch_of(report)
            self._last_batch = batch.number
            before = self._heart.run
            positions, latest = positions_of(report), positions_of(report, LATEST)
            self._heart.update(
                positions=positions,
                # What was there when the batch was planned, until the heart has looked itself.
                lag=lag_of(positions, latest) if latest else before.lag,
                batch=batch.number,
                rows=before.rows + batch.rows,
                rows_per_second=batch.rows_per_second,
                dead_letters=before.dead_letters + batch.dead_letters,
            )
            self._watch(self._heart.run, batch)

    def _raise_failure(self) -> None:
        failure = self._query.exception()
        if failure is None or self._gate.has_refused:
            return
        start, end = _offsets(self._query)
        raise PipelineFailed(failure_line(self._pipeline, start, end, str(failure)))


def _offsets(query: StreamingQuery) -> tuple[str, str]:
    """Where the batch that failed begins and ends; only Java's side of the exception knows."""
    told: Any = query._jsq.exception()
    return (told.get().startOffset(), told.get().endOffset()) if told.isDefined() else ("", "")
