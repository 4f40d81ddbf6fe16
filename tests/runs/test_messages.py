"""What a worker leaves unsaid is what nobody would have shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.runs.messages import tell_less


class WorkerInteractor:
    def __init__(self) -> None:
        self.sent: list[tuple[str, object]] = []

    def sendevent(self, name: str, **contents: object) -> None:
        self.sent.append((name, contents.get("data")))


def told(**options: object) -> list[object]:
    worker = WorkerInteractor()
    quiet = {"verbose": 0, "durations": None, "xmlpath": None, "reportchars": "a"}
    config: Any = SimpleNamespace(
        option=SimpleNamespace(**{**quiet, **options}),
        pluginmanager=SimpleNamespace(get_plugins=lambda: [object(), worker]),
    )
    tell_less(config)
    worker.sendevent("logstart")
    for when, outcome in (("setup", "passed"), ("call", "passed"), ("teardown", "failed"), ("setup", "skipped")):
        worker.sendevent("testreport", data={"when": when, "outcome": outcome})
    worker.sendevent("logfinish")
    worker.sendevent("runtest_protocol_complete")
    return [name if data is None else data["when"] for name, data in worker.sent]  # type: ignore[index]


def test_what_is_not_a_pass_or_is_the_test_itself_is_told() -> None:
    assert told() == ["call", "teardown", "setup", "runtest_protocol_complete"]


@pytest.mark.parametrize(
    "options",
    [{"verbose": 1}, {"durations": 10}, {"xmlpath": "out.xml"}, {"reportchars": "P"}],
    ids=lambda one: str(one),
)
def test_all_is_told_where_it_is_shown(options: dict[str, object]) -> None:
    assert len(told(**options)) == 7
