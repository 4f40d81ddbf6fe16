"""A worker tells the process that it works for six things about each test; where nobody asks for more than a dot, two
are enough: what came out, and that it is over."""

from __future__ import annotations

import pytest

NEVER_SHOWN = ("logstart", "logfinish")


def tell_less(config: pytest.Config) -> None:
    """Unless the run shows more of a test that passes than a dot."""
    option = config.option
    shows_more = (
        option.verbose > 0 or option.durations is not None or option.xmlpath or set("pPA") & set(option.reportchars)
    )
    for plugin in [] if shows_more else config.pluginmanager.get_plugins():
        # There is no public way to it.
        if type(plugin).__name__ == "WorkerInteractor":
            _send_less(plugin)


def _send_less(worker: object) -> None:
    send = worker.sendevent  # type: ignore[attr-defined]

    def sendevent(name: str, **contents: object) -> None:
        if name not in NEVER_SHOWN and not (name == "testreport" and _goes_without_saying(contents["data"])):
            send(name, **contents)

    worker.sendevent = sendevent  # type: ignore[attr-defined]


def _goes_without_saying(report: dict[str, object]) -> bool:
    return report["when"] != "call" and report["outcome"] == "passed"
