"""A trial of one of the programs: numbers go in, the program is killed some times, and what came out is counted."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from penstock import Admin, Consumer, Producer

PROGRAMS = ("at_most_once", "at_least_once", "exactly_once")
COUNT = 100
DEATHS = (25, 60)
"""The numbers at which the first runs die; the last one does not."""
RUN_S_MAX = 60.0
END = "end"

Isolation = Literal["read_committed", "read_uncommitted"]


class Outcome(NamedTuple):
    """What became of the numbers."""

    lost: int
    doubled: int
    undone: int
    """Copies that only a reader sees who does not mind whether they are committed."""


def trial(bootstrap: str, program: str, count: int = COUNT, deaths: Sequence[int] = DEATHS) -> Outcome:
    source, target = f"{program}-numbers", f"{program}-doubled"
    admin = Admin(bootstrap)
    for topic in (source, target):
        admin.create_topic(topic)
    with Producer(bootstrap) as producer:
        for number in range(count):
            producer.send(source, value=str(number))
    for die_at in (*deaths, None):
        _run(program, [bootstrap, source, target, str(count)], die_at)
    with Producer(bootstrap) as producer:
        producer.send(target, value=END)
    seen, anything = (_read(bootstrap, target, isolation) for isolation in ("read_committed", "read_uncommitted"))
    expected = {str(2 * number) for number in range(count)}
    assert seen.keys() <= expected
    return Outcome(len(expected - seen.keys()), seen.total() - len(seen), anything.total() - seen.total())


def _run(program: str, arguments: list[str], die_at: int | None) -> None:
    death = [] if die_at is None else ["--die-at", str(die_at)]
    command = [sys.executable, "-m", f"examples.semantics.{program}", *arguments, *death]
    done = subprocess.run(command, timeout=RUN_S_MAX, check=False)
    assert done.returncode == (0 if die_at is None else -signal.SIGKILL), done


def _read(bootstrap: str, topic: str, isolation: Isolation) -> Counter[str]:
    texts: Counter[str] = Counter()
    with Consumer(bootstrap, group=f"{topic}-{isolation}", topics=[topic], isolation=isolation) as consumer:
        for record in consumer:
            if record.text == END:
                break
            texts[record.text] += 1
    return texts
