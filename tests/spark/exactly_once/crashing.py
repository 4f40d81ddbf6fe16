"""Dying at a step of the exactly-once sink: installed in every Python process of a query by an environment variable.

A plan is a file with a step and a victim in each line. Whoever first comes to the step of the first line takes it away,
and kills: the driver (Java and Python), the workers of the executor, or the broker, which the test starts again; on a
cluster a whole executor (Java and Python); or only itself. Or it falls asleep until the test wakes it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "PENSTOCK_TEST_CRASH"
"""A folder with `plan`, and the process ids `driver` and `broker`."""
STEPS: Final = ("recovery", "init", "produce", "flushed", "record", "before end", "between ends")
VICTIMS: Final = ("driver", "executor", "broker")
"""Of the matrix. There are more: `machine`, `itself`, and `asleep`."""
BUG_VARIABLE: Final = "PENSTOCK_TEST_BUG"
"""Which of `planted` the query has."""
BACK_S_MAX: Final = 200.0


def at(step: str) -> None:
    """This process has come to a step."""
    folder = Path(os.environ[VARIABLE])
    plan, taken = folder / "plan", folder / f"taken-{os.getpid()}"
    try:
        if not plan.read_text().startswith(f"{step},"):
            return
        plan.rename(taken)
    except FileNotFoundError:
        return
    line, _, rest = taken.read_text().partition("\n")
    with (folder / "done").open("a") as done:
        done.write(f"{line}\n")
    taken.write_text(rest)
    taken.rename(plan)
    _KILLS[line.split(",")[1]](folder)


def _kill_driver(folder: Path) -> None:
    os.killpg(int((folder / "driver").read_text()), signal.SIGKILL)
    # Python workers are in groups of their own.
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_executor(folder: Path) -> None:
    """Whoever has run a task, whether it is at work or, at the driver's steps, waits for more."""
    mine = os.getpid()
    numbers = sorted((int(each.name.removeprefix("worker-")) for each in folder.glob("worker-*")), key=mine.__eq__)
    for number in numbers:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def _kill_machine(_: Path) -> None:
    """The executor of the cluster whose worker this is: worker, daemon, Java."""
    daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
    os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_itself(_: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _sleep(folder: Path) -> None:
    _wait_for(folder / "awake")


def _is_task() -> bool:
    from pyspark import TaskContext

    return TaskContext.get() is not None


def _kill_broker(folder: Path) -> None:
    os.kill(int((folder / "broker").read_text()), signal.SIGKILL)
    (folder / "broker").unlink()
    _wait_for(folder / "broker")


def _wait_for(file: Path) -> None:
    deadline = time.monotonic() + BACK_S_MAX
    while not file.exists() and time.monotonic() < deadline:
        _pause(0.05)


_pause: Callable[[float], None] = time.sleep
_KILLS: Final = {
    "driver": _kill_driver,
    "executor": _kill_executor,
    "broker": _kill_broker,
    "machine": _kill_machine,
    "itself": _kill_itself,
    "asleep": _sleep,
}


def install() -> None:
    """Come to the steps of the sink."""
    from penstock.client.exactly_once import performing
    from penstock.client.transactional import TransactionalProducer
    from penstock.core.delivery.exactly_once.asks import End, Introduce, ReadNewest, WriteRecord

    if BUG_VARIABLE in os.environ:
        from tests.spark.exactly_once.planted import plant

        plant(os.environ[BUG_VARIABLE])
    perform, flush = performing.Performer.perform, TransactionalProducer.flush
    ended: list[Any] = []
    recorded: list[bool] = []

    def crashing_perform(self: performing.Performer, ask: Any) -> Any:
        is_driver = getattr(ask, "transactional_id", "").endswith("-driver")
        # Before a batch the ends of the one before are asked for again; those are no steps.
        is_commit = isinstance(ask, End) and ask.committed and not is_driver and bool(recorded)
        if isinstance(ask, Introduce) and is_driver:
            recorded.clear()
        if isinstance(ask, ReadNewest) and not _is_task():
            at("recovery")
        if isinstance(ask, Introduce) and not is_driver:
            (Path(os.environ[VARIABLE]) / f"worker-{os.getpid()}").touch()
            at("init")
        if is_commit and ask.producer not in ended:
            at("between ends" if ended else "before end")
        answer = perform(self, ask)
        if isinstance(ask, WriteRecord):
            ended.clear()
            recorded.append(True)
            at("record")
        if is_commit:
            ended.append(ask.producer)
        return answer

    def crashing_flush(self: TransactionalProducer) -> None:
        is_task = not str(self._transactional_id).endswith("-driver")
        if is_task:
            self._send_all()
            at("produce")
        flush(self)
        if is_task:
            at("flushed")

    performing.Performer.perform = crashing_perform  # type: ignore[method-assign]  # That is the point.
    TransactionalProducer.flush = crashing_flush  # type: ignore[method-assign]  # That is the point.
