"""A busy machine must not look like a broken one: `python -m tests.chaos.flapping --help`

Three nodes share the machine with eight processes that do nothing but use it up, under a steady load; nobody may be
elected and nobody may leave an in-sync set.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tests.chaos.cluster import on_loopback
from tests.chaos.decisions import decided_since, end_offset
from tests.chaos.faults import TOPIC, hold
from tests.chaos.load import Load

NODES = 3
BUSY_LOOPS = 8
RECORDS_PER_SECOND = 1_000
SETTLING_SECONDS = 3.0
_BUSY = "while True: pass"


@contextmanager
def busy_machine(loops: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(seconds: float) -> Counter[str]:
    """What was decided while nothing happened but work."""
    with on_loopback(NODES, {"auto.balance.enable": "false"}) as cluster:
        cluster.create_topic(TOPIC, NODES)
        with Load(cluster.bootstrap, TOPIC, records_per_second=RECORDS_PER_SECOND) as load:
            hold(SETTLING_SECONDS)
            begin = end_offset(cluster.nodes[1].folder)
            with busy_machine(BUSY_LOOPS):
                hold(seconds)
                decided = decided_since(cluster.nodes[1].folder, begin)
            load.finish()
        if decided.total():
            # What the nodes say of it tells why.
            print(cluster.output(), file=sys.stderr)
    p99 = load.p99() * 1000
    rate = len(load.latencies) / (seconds + SETTLING_SECONDS)
    print(f"{seconds:.0f} s beside {BUSY_LOOPS} busy loops: {rate:.0f} records/s, p99 {p99:.0f} ms, {dict(decided)}")
    return decided


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.flapping", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    return 1 if run(parser.parse_args().seconds).total() else 0


if __name__ == "__main__":
    sys.exit(main())
