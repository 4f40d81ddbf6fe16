"""A process that runs pipelines, started with the same command that a person would type."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PIPELINES = "examples/orders/pipelines.py"
PENSTOCK = (sys.executable, "-m", "penstock.cli.main")
STOP_S_MAX = 120
END_S_MAX = 20
TALK_LINES_SHOWN = 15
QUICK_JAVA = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
"""A JVM that lives for two minutes would spend half of them on compiling well; here it compiles quickly."""


class Worker:
    """Starts when it is made. What it says goes to a file, which is shown if it dies without being told to."""

    def __init__(self, address: str, folder: Path, *pipelines: str) -> None:
        self._address = address
        self._pipelines = pipelines
        self._talk = folder / f"{'-'.join(pipelines)}.log"
        where = ("--from", PIPELINES, "--bootstrap", address, "--checkpoints", str(folder / "checkpoints"))
        with self._talk.open("a") as talk:
            self._process = subprocess.Popen(
                [*PENSTOCK, "pipeline", "run", *pipelines, *where, "--master", "local[2]"],
                cwd=ROOT,
                env=os.environ | QUICK_JAVA,
                stdin=subprocess.DEVNULL,
                stdout=talk,
                stderr=talk,
                # A group of its own: killed as a whole, and out of the way of ctrl-c.
                start_new_session=True,
            )

    @property
    def has_died(self) -> bool:
        return self._process.poll() not in {None, 0}

    def last_words(self) -> str:
        lines = self._talk.read_text(errors="replace").splitlines()
        return "\n".join(lines[-TALK_LINES_SHOWN:])

    def stop_one(self, pipeline: str) -> None:
        """What a person would type in another terminal: one pipeline ends, those beside it go on."""
        command = [*PENSTOCK, "pipeline", "stop", pipeline, "--bootstrap", self._address]
        with self._talk.open("a") as talk:
            subprocess.run(command, cwd=ROOT, stdout=talk, stderr=talk, timeout=STOP_S_MAX, check=True)

    def stop(self) -> None:
        """A graceful end: batches that run are finished. It waits for nothing; see `end`."""
        if self._process.poll() is None:
            self._process.terminate()

    def end(self) -> None:
        """Stop and wait; one that hangs is killed."""
        self.stop()
        try:
            self._process.wait(END_S_MAX)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """kill -9 for Python, Java and whatever they have started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
