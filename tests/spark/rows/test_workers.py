"""A worker settles before its first tasks, and is left alone after them."""

import gc

import pytest

from penstock.spark.rows import workers


def test_what_is_there_before_the_first_tasks_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(workers, "_tasks", 0)
    monkeypatch.setattr(gc, "collect", lambda: done.append("collect"))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    for _ in range(workers.SETTLING_TASKS + 5):
        workers.settle()
    assert done == ["collect", "freeze"] * workers.SETTLING_TASKS
