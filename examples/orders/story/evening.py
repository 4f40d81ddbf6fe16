"""The plot: a steady afternoon, a spike, two things that break in it, one thing that is added, and the count."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from examples.orders.story import audit
from examples.orders.story.shop import Shop
from examples.orders.story.view import REDRAW_S, View
from examples.orders.story.worker import ROOT, Worker
from penstock.client.pipeline_runs import Run, State

USUAL_PER_MINUTE = 3_000
SPIKE_PER_MINUTE = 50_000
SPIKE_S = 60.0
# Branches that share a process share a JVM, of which a small machine wants few.
TOGETHER = ("payment", "restaurant", "delivery", "notification")
FIRST_BRANCHES = (*TOGETHER, "analytics")
ALL_BRANCHES = (*FIRST_BRANCHES, "loyalty")
FRESH_S = 20
STEP_S_MAX = 300.0


class Evening:
    """Plays scene by scene; every scene waits for what it claims, and none longer than `STEP_S_MAX`."""

    def __init__(self, address: str, folder: Path, shop: Shop, view: View, cleanup: ExitStack) -> None:
        self._address, self._folder, self._shop, self._view, self._cleanup = address, folder, shop, view, cleanup
        self._workers: dict[str, Worker] = {}

    def play(self) -> list[audit.Count]:
        self._install_spark()
        self._open()
        self._begin_the_spike()
        self._take_notification_down()
        self._kill_analytics()
        self._bring_both_back_and_add_a_branch()
        self._close()
        return [audit.count(self._address, branch) for branch in ALL_BRANCHES]

    def _install_spark(self) -> None:
        """Orders do not wait for Spark: the log takes them from the first second."""
        command = [sys.executable, "requirements/install.py", "spark"]
        installation = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL)
        self._cleanup.callback(installation.terminate)
        before = self._shop.acknowledged
        while installation.poll() is None:
            self._pause()
        if installation.returncode != 0:
            raise SystemExit("Spark could not be installed; `make demo-broker` shows what works without it")
        if self._shop.acknowledged > before:
            self._view.tell(f"Spark is installed; {self._shop.acknowledged:,} orders have come in meanwhile")

    def _open(self) -> None:
        self._start(*TOGETHER)
        self._start("analytics")
        self._view.tell("five services start to read the orders, from the first one")
        self._until_running(*FIRST_BRANCHES)
        self._until_caught_up(*FIRST_BRANCHES)
        self._view.tell("all of them have caught up")

    def _begin_the_spike(self) -> None:
        self._shop.surge(SPIKE_PER_MINUTE, SPIKE_S)
        self._view.tell(f"[bold]the spike[/]: {SPIKE_PER_MINUTE:,} orders a minute, for {SPIKE_S:.0f} s")
        enough = self._shop.acknowledged + SPIKE_PER_MINUTE // 10
        self._until("the first of the spike has come in", lambda _: self._shop.acknowledged > enough)

    def _take_notification_down(self) -> None:
        self._workers["notification"].stop_one("notification")
        self._until("notification is down", lambda runs: runs["notification"].state is State.STOPPED)
        self._view.tell("[bold]notification is down[/]; nobody else notices, no order fails")

    def _kill_analytics(self) -> None:
        self._workers.pop("analytics").kill()
        self._view.tell("[bold]analytics is killed[/] (kill -9) in the middle of the spike")
        self._until("the loss shows", lambda runs: runs["analytics"].state is State.LOST)
        self._view.tell("its run shows as lost; its last checkpoint and the log are all it needs")

    def _bring_both_back_and_add_a_branch(self) -> None:
        self._start("analytics")
        self._start("notification", "loyalty")
        self._until_running("analytics", "notification", "loyalty")
        self._view.tell("analytics and notification are back and go on where they were")
        self._view.tell("[bold]a sixth service[/], loyalty, is added live: it replays the orders from offset 0")

    def _close(self) -> None:
        self._until("the spike is over", lambda _: not self._shop.is_in_surge)
        self._shop.close()
        self._view.tell(f"the shop closes after {self._shop.acknowledged:,} orders; {self._shop.failed} failed")
        self._until_caught_up(*ALL_BRANCHES)
        self._view.tell("every branch has read everything")
        for worker in self._workers.values():
            worker.stop()
        for worker in self._workers.values():
            worker.end()
        self._view.tell("all have stopped; a plain client counts what is in the topics")

    def _start(self, *pipelines: str) -> None:
        worker = Worker(self._address, self._folder, *pipelines)
        self._cleanup.callback(worker.kill)
        self._workers |= dict.fromkeys(pipelines, worker)

    def _until_running(self, *branches: str) -> None:
        def all_run(runs: dict[str, Run]) -> bool:
            return all(name in runs and runs[name].state is State.RUNNING for name in branches)

        self._until(f"{', '.join(branches)} run", all_run)

    def _until_caught_up(self, *branches: str) -> None:
        """Nothing is left to read; while orders come in, at most those of the last seconds."""
        begun_ms = int(time.time() * 1000)
        few = self._shop.per_minute * FRESH_S // 60

        def all_have(runs: dict[str, Run]) -> bool:
            heard = [runs[name] for name in branches if runs[name].heartbeat_ms > begun_ms]
            return len(heard) == len(branches) and all(run.lag is not None and run.lag <= few for run in heard)

        self._until(f"{', '.join(branches)} have caught up", all_have)

    def _until(self, what: str, is_so: Callable[[dict[str, Run]], bool]) -> None:
        deadline = time.monotonic() + STEP_S_MAX
        while not is_so(runs := self._view.runs()):
            self._check(runs)
            self._pause()
            if time.monotonic() > deadline:
                raise SystemExit(f"this took more than {STEP_S_MAX:.0f} s: {what}")

    def _check(self, runs: dict[str, Run]) -> None:
        for name, worker in self._workers.items():
            if name in runs and runs[name].state is State.FAILED:
                raise SystemExit(runs[name].error)
            if worker.has_died:
                raise SystemExit(f"{name} has died:\n{worker.last_words()}")

    def _pause(self) -> None:
        time.sleep(REDRAW_S)
        self._view.draw()
