"""What is told of a query that has ended, without Spark."""

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.client.pipeline_runs import Run, State
from penstock.spark.pipelines.showing import run_line
from penstock.spark.pipelines.watching import Watch

RUN = Run(pipeline="copy", run="1", host="here", pid=1, master="local", started_ms=0)


class Heart:
    """Keeps the newest picture of a run."""

    def __init__(self) -> None:
        self.run = RUN

    def update(self, **changes: Any) -> None:
        self.run = Run(**(vars(self.run) | changes))


@pytest.mark.parametrize(("is_refused", "state", "lag"), [(False, State.FINISHED, 0), (True, State.STOPPED, None)])
def test_a_query_that_found_nothing_to_do_has_left_nothing(is_refused: bool, state: State, lag: int | None) -> None:
    query: Any = SimpleNamespace(isActive=False, lastProgress=None, exception=lambda: None)
    gate: Any = SimpleNamespace(has_refused=is_refused)
    heart: Any = Heart()
    assert Watch("copy", query, gate, heart, lambda run, batch: None).until_the_end() is state
    assert heart.run.lag == lag


def test_nothing_new_is_said_so() -> None:
    ended = Run(**(vars(RUN) | {"state": State.FINISHED, "lag": 0}))
    assert run_line(ended) == "copy: finished, nothing new, 0 rows, 0 rows/s, lag 0, 0 dead letters"
    assert "waiting for the first batch" in run_line(RUN)
    assert "failed, no batch, " in run_line(Run(**(vars(RUN) | {"state": State.FAILED})))
