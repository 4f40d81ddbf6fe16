"""What a process costs, read from the kernel."""

import os
import subprocess
import sys

from bench.processes import tree, usage_of

CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"


def test_children_and_their_children_are_counted() -> None:
    with subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE) as child:
        try:
            assert child.pid in tree(os.getpid())
            assert child.pid in tree(child.pid)
            assert usage_of(os.getpid()).resident_mb > usage_of(child.pid).resident_mb > 0
        finally:
            child.kill()


def test_a_busy_process_has_used_processor_time() -> None:
    before = usage_of(os.getpid()).cpu_s
    while usage_of(os.getpid()).cpu_s == before:
        sum(range(10_000))
    assert usage_of(os.getpid()).cpu_s > before


def test_a_process_that_ended_costs_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert usage_of(child.pid).cpu_s == 0
