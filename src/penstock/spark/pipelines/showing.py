"""How pipelines and runs are shown: tables and facts for people, JSON for programs; both on stdout, talk on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from penstock.client.pipeline_runs import Run, State
from penstock.spark.pipelines.declaration import (
    AvailableNow,
    CallSink,
    ConsoleSink,
    Json,
    LakeSink,
    ParquetSink,
    PerRecord,
    Pipeline,
    Sink,
    TableSink,
    TopicSink,
    TopicSource,
    Trigger,
)
from penstock.spark.typed.declaration import Registry

if TYPE_CHECKING:
    from penstock.spark.pipelines.verifying import Finding

# A table that is piped somewhere has no edge to be cut at.
PIPED_WIDTH: Final = 10_000


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False), flush=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown_rows = list(rows)
    if not shown_rows:
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in shown_rows:
        table.add_row(*(Text("-" if cell is None else str(cell)) for cell in row))
    Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False).print(table)


def print_facts(facts: Mapping[str, Any]) -> None:
    width = max(map(len, facts))
    for name, value in facts.items():
        lines = value if isinstance(value, list) else [value]
        for index, line in enumerate(lines):
            print(f"{name if index == 0 else '':<{width}}  {'-' if line is None else line}", flush=True)


def pipeline_facts(pipeline: Pipeline, checkpoint: str) -> dict[str, Any]:
    """Everything that a declaration says, in plain values."""
    transform = pipeline.transform
    return {
        "name": pipeline.name,
        "description": pipeline.description or None,
        "sources": [source_text(source) for source in pipeline.sources],
        "transform": f"{transform.__module__}.{getattr(transform, '__qualname__', type(transform).__name__)}",
        "sinks": [sink_text(sink) for sink in pipeline.sinks],
        "trigger": trigger_text(pipeline.trigger),
        "mode": pipeline.mode,
        "checkpoint": checkpoint,
    }


def source_text(source: TopicSource) -> str:
    text = f"topic {', '.join(source.topics)} from {source.starting}"
    if source.decode is not None:
        letters = ", ".join(dict.fromkeys(map(source.dead_letter_topic, source.topics)))
        text += f", decoded as {decode_text(source.decode)}, dead letters to {letters}"
    if source.watermark is not None:
        text += f", watermark {source.watermark.delay} on {source.watermark.column}"
    return text


def decode_text(decode: Json | PerRecord | Registry) -> str:
    if isinstance(decode, Registry):
        whose = "a schema of its own" if decode.schema else f"{decode.subject or 'its subject'}, {decode.version}"
        return f"{decode.format} of a registry ({whose})"
    kind = "JSON" if isinstance(decode, Json) else f"function {decode.function.__qualname__}"
    shown = " ".join(decode.schema.split()) if isinstance(decode.schema, str) else decode.schema.simpleString()
    return f"{kind} ({shown})"


def sink_text(sink: Sink) -> str:
    match sink:
        case TopicSink(topic=None):
            return "the topic that each row names"
        case TopicSink():
            text = f"topic {sink.topic}" + (f" keyed by {sink.key}" if sink.key else "")
            if sink.encode is None:
                return text
            subject = sink.encode.subject or f"{sink.topic}-value"
            return (
                f"{text}, as {sink.encode.format} of a registry ({subject}), dead letters to {sink.dead_letter_topic}"
            )
        case ParquetSink():
            return f"Parquet files in {sink.path}"
        case TableSink():
            return f"table {sink.table}"
        case LakeSink():
            return f"Delta table in {sink.path}, by {sink.by.value}"
        case ConsoleSink():
            return "console"
        case CallSink():
            return f"function {sink.function.__qualname__}"


def trigger_text(trigger: Trigger) -> str:
    if isinstance(trigger, AvailableNow):
        return "what is available, then ends"
    return f"every {trigger.seconds:g} s" if trigger.seconds else "as soon as the batch before is done"


_WITHOUT_BATCH: Final = {State.FINISHED: "nothing new", State.FAILED: "no batch", State.STOPPED: "no batch"}
RUN_COLUMNS: Final = (
    "pipeline",
    "state",
    "host",
    "pid",
    "batch",
    "rows",
    "rows/s",
    "lag",
    "dead letters",
    "last heard",
)


def run_row(run: Run, now_ms: int) -> tuple[Any, ...]:
    heard = f"{max(0, now_ms - run.heartbeat_ms) / 1000:.0f} s ago"
    counts = (run.batch, run.rows, run.rows_per_second, run.lag, run.dead_letters)
    return (run.pipeline, run.state.value, run.host, run.pid, *counts, heard)


FINDING_COLUMNS: Final = ("", "where", "told", "found", "verdict")


def finding_row(finding: Finding) -> tuple[Any, ...]:
    verdict = "adds up" if finding.adds_up else "DIFFERS"
    if finding.found is None:
        verdict = "not counted"
    texts = (verdict, finding.note)
    return (finding.what, finding.where, finding.told, finding.found, ": ".join(filter(None, texts)))


def run_line(run: Run) -> str:
    """One line about a run that goes on."""
    batch = f"batch {run.batch}"
    if run.batch is None:
        batch = _WITHOUT_BATCH.get(run.state, "waiting for the first batch")
    lag = "?" if run.lag is None else f"{run.lag:,}"
    rates = f"{run.rows:,} rows, {run.rows_per_second:,.0f} rows/s, lag {lag}, {run.dead_letters:,} dead letters"
    return f"{run.pipeline}: {run.state.value}, {batch}, {rates}"
