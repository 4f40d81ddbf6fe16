"""A good client in a process of its own that produces all the time and knows how long it ever waited.

`python -m tests.robustness.timed_client HOST PORT TOPIC PID...`: for each line on its input it prints the longest wait
for an acknowledgement since the last line, in milliseconds, and how many there were; it ends with its input. What the
machine made the nodes' loops, or this client, wait for a processor is not counted: others use the machine too.
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from pathlib import Path

from penstock.client.link import Link
from penstock.shell.children import environment
from tests.robustness.good_client import TIMEOUT_S, put

PAUSE_S = 0.002
ROOT = Path(__file__).resolve().parents[2]


def queued_ns(pid: int) -> int:
    """How long the main thread of a process has been ready to run while the processors had something else to do."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[1])


class Watch:
    """The time that passes for the node that is asked, the slowest of those that it waits for, and their client."""

    def __init__(self, pid: int, *others: int) -> None:
        self._serial, self._parallel = (pid, int(Path("/proc/self").readlink().name)), others
        self._begun_ns = 0
        self._queued_ns: dict[int, int] = {}

    def start(self) -> None:
        self._queued_ns = {pid: queued_ns(pid) for pid in (*self._serial, *self._parallel)}
        self._begun_ns = time.monotonic_ns()

    def elapsed_ms(self) -> float:
        passed_ns = time.monotonic_ns() - self._begun_ns
        waited_ns = {pid: queued_ns(pid) - before for pid, before in self._queued_ns.items()}
        serial_ns = sum(waited_ns[pid] for pid in self._serial)
        return (passed_ns - serial_ns - max((waited_ns[pid] for pid in self._parallel), default=0)) / 1e6


def main(host: str, port: str, topic: str, *pids: str) -> None:
    link = Link(host, int(port), "good", TIMEOUT_S)
    watch = Watch(*map(int, pids))
    longest_ms, count = 0.0, 0
    while True:
        watch.start()
        put(link, topic, b"good")
        longest_ms, count = max(longest_ms, watch.elapsed_ms()), count + 1
        if select.select([sys.stdin], [], [], PAUSE_S)[0]:
            if not sys.stdin.readline():
                return
            print(longest_ms, count, flush=True)
            longest_ms, count = 0.0, 0


class TimedClient:
    """That process, from a test."""

    def __init__(self, host: str, port: int, topic: str, *pids: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.robustness.timed_client", host, str(port), topic, *map(str, pids)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(),
        )

    def longest_ms(self) -> float:
        """The longest wait since this was asked last; it has been acknowledged something since."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        assert answer, "the good client failed"
        assert int(answer[1]) > 0
        return float(answer[0])

    def close(self) -> None:
        self._process.communicate(timeout=TIMEOUT_S)


if __name__ == "__main__":
    main(*sys.argv[1:])
