"""`penstock pipeline` as far as it goes without Spark."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from penstock.cli.main import main
from penstock.client.blocking import Client
from penstock.client.pipeline_runs import LOST_AFTER_MS, Registry, Run, State
from penstock.spark.pipelines import commands
from penstock.testing import Broker

DECLARED = """
from penstock.spark.pipelines import *
def double(frame): return frame
flow = Pipeline("flow", (TopicSource("orders", Json("a STRING"), Watermark("a", "1 minute")),),
                (TopicSink("out", key="a"), ParquetSink("lake")), double, Every(5), description="a flow")
"""
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def penstock(broker: Broker, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP", broker.bootstrap)

    def command(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        return main(["pipeline", *arguments]), *capfd.readouterr()

    return command


@pytest.fixture
def flows(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    file = tmp_path / f"flows_{request.node.name}.py"
    file.write_text(DECLARED)
    return str(file)


def tell(broker: Broker, *runs: Run) -> None:
    with Client(broker.bootstrap) as client:
        registry = Registry(client)
        registry.create()
        for run in runs:
            registry.tell(run)


@pytest.mark.slow
def test_list_and_show(penstock: Command, flows: str) -> None:
    code, out, _ = penstock("list", "--from", flows, "--output", "json")
    assert code == 0
    assert json.loads(out) == [
        {
            "name": "flow",
            "sources": ["orders"],
            "sinks": ["topic out keyed by a", "Parquet files in lake"],
            "trigger": "every 5 s",
            "description": "a flow",
        }
    ]
    code, out, _ = penstock("show", "flow", "--from", flows, "--checkpoints", "/c", "--output", "json")
    facts = json.loads(out)
    assert facts["checkpoint"] == "/c/flow"
    assert facts["sources"] == [
        "topic orders from earliest, decoded as JSON (a STRING), dead letters to orders.dlq, watermark 1 minute on a"
    ]
    assert facts["transform"].endswith(".double")
    assert "flow" in penstock("list", "--from", flows)[1]
    assert "a flow" in penstock("show", "flow", "--from", flows)[1]


def test_a_pipeline_that_is_not_declared(penstock: Command, flows: str) -> None:
    assert penstock("show", "flaw", "--from", flows) == (
        1,
        "",
        "penstock: there is no pipeline flaw; did you mean flow?\n  see `penstock pipeline list`\n",
    )


def test_status_where_nothing_has_run_says_how_to_run_something(penstock: Command) -> None:
    with Broker() as fresh:
        code, out, err = penstock("status", "--bootstrap", fresh.bootstrap)
    assert (code, out) == (0, "")
    assert err.startswith("no pipeline has run here yet")


def test_status_shows_runs_and_who_is_lost(
    penstock: Command, broker: Broker, penstock_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert penstock("status", penstock_topic)[0] == 1
    run = Run(penstock_topic, "run-1", "far-away", 17, "local", 0, State.RUNNING, batch=4, rows=10, lag=3)
    tell(broker, run)
    code, out, _ = penstock("status", penstock_topic, "--output", "json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["state"], facts["host"], facts["pid"], facts["lag"]) == ("running", "far-away", 17, 3)
    assert "far-away" in penstock("status")[1]

    monkeypatch.setattr("penstock.spark.pipelines.commands._now_ms", lambda: facts["heartbeat_ms"] + LOST_AFTER_MS + 1)
    assert json.loads(penstock("status", penstock_topic, "--output", "json")[1])["state"] == "lost"


def test_a_run_that_failed_says_why(penstock: Command, broker: Broker, penstock_topic: str) -> None:
    tell(broker, Run(penstock_topic, "run-1", "h", 1, "local", 0, State.FAILED, error="pipeline p failed: so"))

    assert "pipeline p failed: so" in penstock("status", penstock_topic)[2]


def test_only_what_runs_can_be_stopped(penstock: Command, broker: Broker, penstock_topic: str) -> None:
    assert "it has never run" in penstock("stop", penstock_topic)[2]
    run = Run(penstock_topic, "run-1", "h", 1, "local", 0, State.RUNNING)
    tell(broker, run, replace(run, state=State.FINISHED))

    assert "its last run is finished" in penstock("stop", penstock_topic)[2]


def test_a_stop_that_is_not_heard_is_given_up(penstock: Command, broker: Broker, penstock_topic: str) -> None:
    tell(broker, Run(penstock_topic, "run-1", "far-away", 17, "local", 0, State.RUNNING))
    code, _, said = penstock("stop", penstock_topic, "--timeout", "0.3")

    assert code == 1
    assert "still running after 0.3 s" in said
    assert "far-away as process 17" in said


def test_the_command_is_in_the_help(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "Declared pipelines on Spark" in capfd.readouterr().out


def test_where_nobody_watches_a_line_each_few_seconds_is_enough(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(commands.time, "monotonic", lambda: now)
    lines = commands._Lines()
    one = Run("one", "run-1", "h", 1, "local", 0, State.RUNNING, batch=1, rows=1_234, lag=5)
    other = replace(one, pipeline="other")
    for run in (one, other, one, other):
        lines(run, None)
    now += commands.LINE_EVERY_S
    lines(one, None)
    lines(replace(one, state=State.STOPPED), None)

    assert capfd.readouterr().err.splitlines() == [
        "one: running, batch 1, 1,234 rows, 0 rows/s, lag 5, 0 dead letters",
        "other: running, batch 1, 1,234 rows, 0 rows/s, lag 5, 0 dead letters",
        "one: running, batch 1, 1,234 rows, 0 rows/s, lag 5, 0 dead letters",
        "one: stopped, batch 1, 1,234 rows, 0 rows/s, lag 5, 0 dead letters",
    ]


def test_a_terminal_keeps_lines_and_leaves_the_last_of_each() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=200, color_system=None, highlight=False)
    one = Run("one", "run-1", "h", 1, "local", 0, State.RUNNING, batch=1)
    with console.status("starting Spark") as shown:
        terminal = commands._Terminal(console, shown)
        terminal(one, None)
        terminal(replace(one, pipeline="other"), None)
        assert str(shown.status).count("\n") == 1
        terminal(replace(one, state=State.STOPPED), None)
        assert str(shown.status).startswith("other: running")
    assert isinstance(console.file, io.StringIO)
    assert "one: stopped, batch 1" in console.file.getvalue()
