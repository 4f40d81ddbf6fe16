"""`penstock pipeline`: what is declared, what runs, and running it. Found by the CLI through its entry points.

Spark is imported by the commands that need it, when they need it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.client.errors import ClientError
from penstock.client.pipeline_runs import Registry, Run, State
from penstock.spark.lake.places import By
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.discovery import find, find_all
from penstock.spark.pipelines.showing import (
    FINDING_COLUMNS,
    RUN_COLUMNS,
    finding_row,
    pipeline_facts,
    print_facts,
    print_json,
    print_table,
    run_line,
    run_row,
    sink_text,
    trigger_text,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from penstock.spark.pipelines.progress import Batch
    from penstock.spark.pipelines.watching import Watcher

DEFAULT_BOOTSTRAP: Final = "127.0.0.1:9092"
TIMEOUT_S: Final = 10.0
STOP_S_MAX: Final = 120.0
FOLLOW_MS: Final = 250
# Where nobody watches a terminal, a line each so often is enough.
LINE_EVERY_S: Final = 5.0

app = typer.Typer(help="Declared pipelines on Spark: list, show, run, watch, stop, verify.", no_args_is_help=True)


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


class TableFormat(StrEnum):
    DELTA = "delta"


class ValueFormat(StrEnum):
    AVRO = "avro"
    JSON = "json"
    PROTOBUF = "protobuf"


Name = Annotated[str, typer.Argument(help="The pipeline.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="The pipelines; several share one session.")]
From = Annotated[
    list[str] | None,
    typer.Option("--from", metavar="FILE_OR_MODULE", help="Where pipelines are declared (or PENSTOCK_PIPELINES)."),
]
Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "--bootstrap-server",
        "-b",
        envvar="PENSTOCK_BOOTSTRAP",
        metavar="HOST:PORT,...",
        help="Where brokers listen.",
    ),
]
Master = Annotated[str | None, typer.Option("--master", metavar="URL", help="Spark's master.", show_default="local[*]")]
Checkpoints = Annotated[
    str | None, typer.Option("--checkpoints", metavar="DIR", help="Where checkpoints are that no pipeline names.")
]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to print the result.")]


@app.command("list")
def list_(from_: From = None, output: OutputOption = Output.TABLE) -> None:
    """List the declared pipelines."""
    known = find_all(from_ or ())
    rows = [
        {
            "name": one.name,
            "sources": [topic for source in one.sources for topic in source.topics],
            "sinks": [sink_text(sink) for sink in one.sinks],
            "trigger": trigger_text(one.trigger),
            "description": one.description or None,
        }
        for one in known.values()
    ]
    if output is Output.JSON:
        print_json(rows)
        return
    cells = [[", ".join(cell) if isinstance(cell, list) else cell for cell in row.values()] for row in rows]
    print_table(("pipeline", "sources", "sinks", "trigger", "description"), cells)
    if not rows:
        _say("no pipeline is declared here; say where with --from FILE_OR_MODULE")


@app.command()
def show(name: Name, from_: From = None, checkpoints: Checkpoints = None, output: OutputOption = Output.TABLE) -> None:
    """Show what a pipeline declares."""
    from penstock.spark.pipelines.running import Settings, checkpoint_of

    pipeline = find(name, from_ or ())
    facts = pipeline_facts(pipeline, checkpoint_of(pipeline, Settings("", checkpoints=checkpoints)))
    if output is Output.JSON:
        print_json(facts)
    else:
        print_facts(facts)


@app.command()
def explain(
    context: typer.Context,
    name: Name,
    from_: From = None,
    master: Master = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show Spark's plan of a pipeline, without running it."""
    from penstock.spark.pipelines.frames import plan_text
    from penstock.spark.session import session

    pipeline = find(name, from_ or ())
    spark = session(f"penstock-{name}", master=master, settings=pipeline.settings)
    try:
        plan = plan_text(pipeline, spark, _cluster(context, bootstrap))
    finally:
        spark.stop()
    if output is Output.JSON:
        print_json({"name": name, "plan": plan})
    else:
        print(plan, flush=True)


@app.command()
def run(
    context: typer.Context,
    names: Names,
    from_: From = None,
    master: Master = None,
    once: Annotated[bool, typer.Option("--once", help="Do what is there, then end.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    checkpoints: Checkpoints = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Spark's own account of failures.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run pipelines in the foreground until they are stopped; they go on where they were stopped."""
    from penstock.spark.pipelines import running

    pipelines = [find(name, from_ or ()) for name in dict.fromkeys(names)]
    there = _cluster(context, bootstrap)
    settings = running.Settings(there.bootstrap, master, once, checkpoints, verbose, there.settings)
    with _watcher(output) as watch:
        running.run_together(pipelines, settings, watch)


@app.command()
def lake(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(help="The topic.")],
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="PLACE", help="The table: a folder, or s3://BUCKET/PATH.", show_default="lake/TOPIC"
        ),
    ] = None,
    format_: Annotated[TableFormat, typer.Option("--format", help="What the table is.")] = TableFormat.DELTA,
    by: Annotated[By, typer.Option("--by", help="How it is cut by the time of its records.")] = By.DAY,
    every: Annotated[float, typer.Option("--every", metavar="SECONDS", help="When a batch begins.")] = 60.0,
    once: Annotated[bool, typer.Option("--once", help="Do what is there, then end.")] = False,
    registry: Annotated[
        str | None, typer.Option("--registry", metavar="URL", help="Columns of their own for values of this registry.")
    ] = None,
    value_format: Annotated[ValueFormat, typer.Option("--value-format", help="What the registry's values are.")] = (
        ValueFormat.AVRO
    ),
    name: Annotated[
        str | None, typer.Option("--name", help="The name to stop and watch it by.", show_default="lake-TOPIC")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="A setting of the store; may be repeated."),
    ] = None,
    master: Master = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    checkpoints: Checkpoints = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show Spark's own account of failures.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Keep a topic as a table: each record once, from offset 0 on, whatever is killed."""
    from penstock.spark.pipelines import laking, running

    assert format_ is TableFormat.DELTA, "there is no other"
    laking.check_installed()
    place = laking.place_of(to or f"lake/{topic}")
    source = laking.registry_of(registry, value_format.value)
    pipeline = laking.lake_of(topic, place, by, every, laking.options_of(option or ()), source, once, name)
    there = _cluster(context, bootstrap)
    settings = running.Settings(there.bootstrap, master, once, checkpoints, verbose, there.settings)
    with _watcher(output) as watch:
        running.run(laking.prepared(pipeline, settings), settings, watch)


@app.command()
def stop(
    context: typer.Context,
    name: Name,
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait.")] = STOP_S_MAX,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop a run, wherever it is: it finishes its batch first."""
    with _cluster(context, bootstrap).client("penstock-cli", min(timeout, TIMEOUT_S)) as client:
        registry = Registry(client)
        target = _present(registry).get(name)
        if target is None or not target.state.is_alive:
            state = f"its last run is {target.state.value}" if target else "it has never run"
            raise ClientError(f"pipeline {name} does not run: {state}", hint="see `penstock pipeline status`")
        registry.ask_to_stop(target)
        ended = _wait_for_end(registry, target, timeout)
    if output is Output.JSON:
        print_json(_run_facts(ended))
    else:
        _say(run_line(ended))
    if ended.state is not State.STOPPED and ended.state is not State.FINISHED:
        raise typer.Exit(1)


@app.command()
def status(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="The pipeline; all without it.")] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="How long to try before giving up.")] = TIMEOUT_S,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the runs: where, how far, how fast, how much is left."""
    with _cluster(context, bootstrap).client("penstock-cli", timeout) as client:
        runs = _present(Registry(client))
    if name is not None and name not in runs:
        raise ClientError(f"pipeline {name} has never run here", hint=f"start it: penstock pipeline run {name}")
    chosen = [run for key, run in sorted(runs.items()) if name in {None, key}]
    if output is Output.JSON:
        print_json(_run_facts(chosen[0]) if name is not None else [_run_facts(run) for run in chosen])
        return
    print_table(RUN_COLUMNS, [run_row(run, _now_ms()) for run in chosen])
    if not chosen:
        _say("no pipeline has run here yet; start one: penstock pipeline run NAME --from pipelines.py")
    for run in chosen:
        if run.error:
            _say(run.error)


@app.command()
def verify(
    context: typer.Context,
    name: Name,
    from_: From = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="How long to try before giving up.")] = TIMEOUT_S,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
) -> None:
    """Count what went in, what came out and what is among the dead letters; exit code 1 where they do not add up."""
    from penstock.spark.pipelines.verifying import careless_readers, findings

    pipeline = find(name, from_ or ())
    found = list(findings(pipeline, _cluster(context, bootstrap), timeout))
    careless = careless_readers(pipeline, [*find_all(from_ or ()).values()])
    adds_up = all(each.adds_up for each in found)
    if output is Output.JSON:
        lines = [asdict(each) | {"adds_up": each.adds_up} for each in found]
        print_json({"pipeline": name, "adds_up": adds_up, "findings": lines, "warnings": careless})
    else:
        print_table(FINDING_COLUMNS, [finding_row(each) for each in found])
        _say(f"pipeline {name}: " + ("it adds up" if adds_up else "it does NOT add up"))
        for warning in careless:
            _say(f"warning: {warning}")
        _say("readers of what it writes must be read_committed")
    if not adds_up:
        raise typer.Exit(1)


def _cluster(context: typer.Context, bootstrap: str) -> Cluster:
    """The cluster that was named, or that the settings of clients name, which the application keeps for us."""
    settings: Mapping[str, str] = context.obj() if context.obj is not None else {}
    source = context.get_parameter_source("bootstrap")
    if source is None or source.name == "DEFAULT":
        bootstrap = settings.get("bootstrap.servers", bootstrap)
    return Cluster(bootstrap, settings)


def _present(registry: Registry) -> dict[str, Run]:
    """The last run of each pipeline as it is now."""
    now_ms = _now_ms()
    return {name: run.seen_at(now_ms) for name, run in registry.read().runs.items()}


def _wait_for_end(registry: Registry, target: Run, timeout: float) -> Run:
    deadline = time.monotonic() + timeout
    while True:
        registry.follow(FOLLOW_MS)
        now = registry.picture.runs[target.pipeline].seen_at(_now_ms())
        if now.run != target.run or not now.state.is_alive:
            return now
        if time.monotonic() > deadline:
            raise ClientError(
                f"pipeline {target.pipeline} was asked to stop and is still {now.state.value} after {timeout:g} s",
                hint=f"it runs on {now.host} as process {now.pid}",
            )


def _run_facts(run: Run) -> dict[str, object]:
    return asdict(run) | {"state": run.state.value}


@contextmanager
def _watcher(output: Output) -> Iterator[Watcher]:
    """Tells of progress: JSON lines on stdout, or a line on stderr that a terminal keeps up to date."""
    if output is Output.JSON:
        yield _json_line
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _Lines()
        return
    with console.status("starting Spark") as shown:
        yield _Terminal(console, shown)


def _json_line(run: Run, batch: Batch | None) -> None:
    if batch is not None:
        print(batch.as_json(run.pipeline, run.lag), flush=True)
    else:
        facts = {"pipeline": run.pipeline, "state": run.state.value, "rows": run.rows, "lag": run.lag}
        print(json.dumps(facts), flush=True)


class _Terminal:
    """A line for each pipeline that is kept up to date while it runs, and stays when it has ended."""

    def __init__(self, console: Console, shown: Status) -> None:
        self._console = console
        self._shown = shown
        self._lines: dict[str, str] = {}

    def __call__(self, run: Run, _: Batch | None) -> None:
        self._lines[run.pipeline] = run_line(run)
        if not run.state.is_alive:
            self._console.print(self._lines.pop(run.pipeline))
        self._shown.update("\n".join(self._lines.values()) or "ending Spark")


class _Lines:
    """For each pipeline a line when its state changes, and one each few seconds in between."""

    def __init__(self) -> None:
        self._states: dict[str, State] = {}
        self._due: dict[str, float] = {}

    def __call__(self, run: Run, _: Batch | None) -> None:
        name, now = run.pipeline, time.monotonic()
        if run.state is not self._states.get(name) or now >= self._due[name]:
            self._states[name], self._due[name] = run.state, now + LINE_EVERY_S
            _say(run_line(run))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _now_ms() -> int:
    return int(time.time() * 1000)
