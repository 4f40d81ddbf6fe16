"""A worker settles before its first tasks, and is left alone after them."""

import gc
import subprocess
import sys

import pytest

from penstock.spark.rows import workers


def test_what_is_there_before_the_first_tasks_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(workers, "_tasks", 0)
    monkeypatch.setattr(workers, "_keep_memory", lambda: done.append("keep"))
    monkeypatch.setattr(gc, "collect", lambda: done.append("collect"))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    for _ in range(workers.SETTLING_TASKS + 5):
        workers.settle()
    assert done == ["keep"] + ["collect", "freeze"] * workers.SETTLING_TASKS


def test_memory_of_answers_is_used_again() -> None:
    """In a process of its own: what is set cannot be taken back."""
    program = """
import resource
from penstock.spark.rows.workers import settle

settle()
def faults_of_a_round():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    answers = [b"x" * 8_000_000 for _ in range(3)]
    del answers
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults_of_a_round()
print(faults_of_a_round() + faults_of_a_round())
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert int(answer.stdout) < 100
