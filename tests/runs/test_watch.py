"""A test that hangs is found, and one that has ended is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import pytest_timeout

from tests.runs import watch
from tests.waiting import wait_until

Found = list[tuple[object, ...]]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Found:
    """What would have ended the process."""
    found: Found = []
    monkeypatch.setattr(pytest_timeout, "timeout_timer", lambda *what: found.append(what))
    monkeypatch.setattr(watch, "LOOK_INTERVAL_S", 0.001)
    return found


@pytest.fixture
def watching(found: Found) -> Iterator[watch.Watch]:
    one = watch.Watch()
    one.pytest_sessionstart()
    yield one
    one.pytest_sessionfinish()


def settings(timeout_s: float, method: str = "thread") -> Any:
    return pytest_timeout.Settings(timeout_s, method, False, False)


def test_who_takes_too_long_is_found(watching: watch.Watch, found: Found) -> None:
    item: Any = object()
    assert watching.pytest_timeout_set_timer(item, settings(0.0))
    wait_until(lambda: bool(found))
    assert found[0] == (item, settings(0.0))


def test_who_has_ended_is_not(watching: watch.Watch, found: Found) -> None:
    item: Any = object()
    watching.pytest_timeout_set_timer(item, settings(1e9))
    watching.pytest_timeout_cancel_timer()
    watching.pytest_timeout_set_timer(other := object(), settings(0.0))  # type: ignore[arg-type]
    wait_until(lambda: bool(found))
    assert {one for one, _ in found} == {other}


def test_another_method_is_left_to_the_plugin(watching: watch.Watch) -> None:
    item: Any = object()
    assert watching.pytest_timeout_set_timer(item, settings(0.0, "signal")) is None
