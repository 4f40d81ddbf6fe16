"""What a query has done, read from Spark's progress reports: rows, rates, dead letters, positions, lag. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from penstock.client.metadata import TopicPartition

# Rows are counted before and after decoding; the difference is what became dead letters.
READ_METRIC: Final = "penstock_read_"
DECODED_METRIC: Final = "penstock_decoded_"
ROWS: Final = "rows"
# What Spark calls the two ends of a source in its reports.
END: Final = "endOffset"
LATEST: Final = "latestOffset"

Positions = dict[TopicPartition, int]


@dataclass(frozen=True)
class Batch:
    """One micro-batch that is done."""

    number: int
    rows: int
    dead_letters: int
    rows_per_second: float
    milliseconds: int

    def as_json(self, pipeline: str, lag: int | None) -> str:
        facts = asdict(self)
        return json.dumps({"pipeline": pipeline, "batch": facts.pop("number"), **facts, "lag": lag})


def batch_of(report: Mapping[str, Any]) -> Batch:
    """A batch from the JSON of Spark's progress report."""
    observed = report.get("observedMetrics") or {}
    return Batch(
        number=int(report["batchId"]),
        rows=int(report.get("numInputRows") or 0),
        dead_letters=_dead_letters(observed),
        rows_per_second=round(_number(report.get("processedRowsPerSecond")), 1),
        milliseconds=int((report.get("durationMs") or {}).get("triggerExecution") or 0),
    )


def positions_of(report: Mapping[str, Any], edge: str = END) -> Positions:
    """How far the query has read, or could have (LATEST); sources whose offsets are not Kafka's are left out."""
    found: Positions = {}
    for source in report.get("sources") or ():
        found |= _positions(source.get(edge))
    return found


def lag_of(positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int:
    """Records that are in the log and not in a finished batch."""
    return sum(max(0, ends[where] - offset) for where, offset in positions.items() if where in ends)


def news(reports: Iterable[Mapping[str, Any]], last_seen: int) -> list[Mapping[str, Any]]:
    """The reports of batches after one, each once: a query that waits repeats the last number."""
    fresh: dict[int, Mapping[str, Any]] = {}
    for report in reports:
        number = int(report["batchId"])
        # A batch that only moves a watermark has no rows and is a batch; a report while waiting has taken no time.
        if number > last_seen and "addBatch" in (report.get("durationMs") or {}):
            fresh[number] = report
    return [fresh[number] for number in sorted(fresh)]


def _positions(offsets: Any) -> Positions:
    """Kafka's offset JSON, `{"topic": {"0": 23}}`, as text or as an object."""
    if isinstance(offsets, str):
        try:
            offsets = json.loads(offsets)
        except ValueError:
            return {}
    if not isinstance(offsets, Mapping):
        return {}
    found: Positions = {}
    for topic, partitions in offsets.items():
        for number, offset in partitions.items() if isinstance(partitions, Mapping) else ():
            if str(number).isdigit() and isinstance(offset, int):
                found[TopicPartition(topic, int(number))] = offset
    return found


def _dead_letters(observed: Mapping[str, Any]) -> int:
    count = 0
    for name, metric in observed.items():
        if name.startswith(READ_METRIC):
            count += int(metric[ROWS])
        elif name.startswith(DECODED_METRIC):
            count -= int(metric[ROWS])
    return max(0, count)


def _number(value: Any) -> float:
    # Spark reports a rate over no time as text ("NaN", "Infinity") or as null.
    return float(value) if isinstance(value, int | float) and abs(value) < float("inf") else 0.0
