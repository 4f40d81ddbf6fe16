"""What a pipeline has read and written in all its batches, as the facts of its newest commit record. Pure.

A record replaces the one before, so each has the sums up to its batch; `penstock pipeline verify` compares them with
what is in the topics.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.spark.pipelines.declaration import TopicSink
from penstock.spark.pipelines.handing import Decoded


def letters_of(sink: TopicSink) -> str:
    """Under which name rows are counted that did not fit. No topic has a colon in its name."""
    return f"{sink.topic}:{sink.dead_letter_topic}"


@dataclass
class Range:
    """Of one partition: the first offset that was read, the one behind the last, and how many records."""

    first: int
    end: int
    records: int = 0
    dead_letters: int = 0


@dataclass
class Counts:
    """`read` is by `topic:partition`, and by source before that, because several may read one topic."""

    batches: int = 0
    read: dict[str, Range] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)

    def with_batch(self, decoded: Iterable[Decoded], written: dict[str, int]) -> Counts:
        after = counts_of(self.as_json())
        after.batches += 1
        for each in decoded:
            for one in each.reads:
                known = after.read.setdefault(f"{each.source}:{one.topic}:{one.partition}", Range(one.first, one.first))
                known.end = max(known.end, one.end)
                known.first = min(known.first, one.first)
                known.records += one.records
                known.dead_letters += one.dead_letters
        for topic, rows in written.items():
            after.written[topic] = after.written.get(topic, 0) + rows
        return after

    def as_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))


def counts_of(facts: str) -> Counts:
    found: dict[str, Any] = json.loads(facts) if facts else {}
    read = {where: Range(**each) for where, each in found.get("read", {}).items()}
    return Counts(found.get("batches", 0), read, dict(found.get("written", {})))
