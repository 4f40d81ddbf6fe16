"""Runs as processes: seen and stopped from outside, killed at any moment, continued without a gap."""

import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.client.pipeline_runs import State
from penstock.testing import Broker
from tests.fresh_seeds import FIRST, IS_SOAK
from tests.spark.pipelines.runs import (
    FLOWS,
    PipelineRun,
    dead_letters,
    kill,
    origins_in,
    origins_out,
    produce,
    running,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.spark

KILLS = 12 if IS_SOAK else 2
# More than are read while a run waits to be killed.
RECORDS = 60_000 if IS_SOAK else 12_000
LOST_S_MAX = 10.0


@pytest.fixture
def node() -> Iterator[Broker]:
    with Broker(beside=True) as broker:
        broker.create_topic("in", 2)
        broker.create_topic("out", 2)
        yield broker


def numbers(first: int, count: int) -> list[bytes]:
    """Records of the topic `in`; each hundredth is bad."""
    return [b"bad" if n % 100 == 0 else b'{"n": %d}' % n for n in range(first, first + count)]


def test_a_run_is_seen_stopped_and_continued(
    node: Broker, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP", node.bootstrap)
    produce(node.bootstrap, "in", numbers(0, 900))
    with running(node.bootstrap, tmp_path, "copy") as run:
        run.wait_for_rows(900)
        seen = run.status()
        assert seen is not None
        assert (seen.state, seen.dead_letters) == (State.RUNNING, 9)
        assert main(["pipeline", "run", "copy", "--from", str(FLOWS)]) == 1
        assert f"pipeline copy already runs on {seen.host} (process {seen.pid})" in capfd.readouterr().err
        assert main(["pipeline", "stop", "copy"]) == 0
        assert run.wait() == 0, run.talk()
        ended = run.status()
        assert ended is not None
        assert (ended.state, ended.rows, ended.lag) == (State.STOPPED, 900, 0)
    assert set(origins_out(node.bootstrap, "out").values()) == {1}, "a graceful stop does nothing twice"

    produce(node.bootstrap, "in", numbers(900, 600))
    with running(node.bootstrap, tmp_path, "copy", "--once") as rest:
        assert rest.wait() == 0, rest.talk()
        finished = rest.status()
    assert finished is not None
    assert (finished.state, finished.rows) == (State.FINISHED, 600)
    assert_once(node)


def assert_once(node: Broker) -> None:
    letters = dead_letters(node.bootstrap, "in.dlq")
    out = origins_out(node.bootstrap, "out")
    out.update(origin for origin, _, _ in letters)
    assert out == origins_in(node.bootstrap, "in")


@pytest.mark.larger
def test_killed_drivers_and_workers_lose_and_double_nothing(node: Broker, tmp_path: Path) -> None:
    dice = random.Random(FIRST if IS_SOAK else 11)
    produce(node.bootstrap, "in", numbers(0, RECORDS))
    for _ in range(KILLS):
        with running(node.bootstrap, tmp_path, "copy") as run:
            run.wait_for_rows(1)
            kill_a_worker(run, dice)
            time_of_death = wait_and_kill_driver(run, dice)
            wait_until(partial(is_lost, run), timeout_s=LOST_S_MAX, what="the loss of the run")
            assert time.monotonic() - time_of_death < LOST_S_MAX
    with running(node.bootstrap, tmp_path, "copy", "--once") as last:
        assert last.wait() == 0, last.talk()
    assert_once(node)
    assert len(dead_letters(node.bootstrap, "in.dlq")) == RECORDS // 100
    assert main(["pipeline", "verify", "copy", "--from", str(FLOWS), "--bootstrap", node.bootstrap]) == 0


def kill_a_worker(run: PipelineRun, dice: random.Random) -> None:
    wait_until(lambda: bool(run.workers()), timeout_s=30, what="Python workers")
    kill(dice.choice(run.workers()))


def wait_and_kill_driver(run: PipelineRun, dice: random.Random) -> float:
    """Kill it somewhere in the middle of its work; a run that a dead worker has ended already needs no killing."""
    seen = run.status()
    target = (seen.rows if seen else 0) + dice.randrange(1, 900)
    wait_until(
        lambda: run.process.poll() is not None or ((now := run.status()) is not None and now.rows >= target),
        timeout_s=60,
        what="some more batches",
    )
    run.kill()
    return time.monotonic()


def is_lost(run: PipelineRun) -> bool:
    now = run.status()
    assert now is not None
    return now.seen_at(int(time.time() * 1000)).state in {State.LOST, State.FAILED}
