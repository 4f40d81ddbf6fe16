"""Durability against latency: who has a record when its producer is told that it is safe."""

from bench.clusters import PenstockNodes
from bench.tradeoffs.experiment import Experiment, Row, bootstrap_of, topic
from bench.tradeoffs.producing import Settings, at_a_pace, flat_out

PACE, SECONDS = 1_000, 8.0
VALUE = b"x" * 1024
RECORDS = 300_000
CHOICES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("acks=0", "0", {}),
    ("acks=1", "1", {}),
    ("acks=all", "all", {}),
    ("acks=all, flush.messages=1", "all", {"flush.messages": "1"}),
)


def run(nodes: PenstockNodes) -> list[Row]:
    rows: list[Row] = []
    for title, acks, config in CHOICES:
        settings: Settings = {"bootstrap.servers": bootstrap_of(nodes), "acks": acks, "linger.ms": 0}
        with topic(nodes, 3, config) as name:
            figures = at_a_pace(settings, name, VALUE, PACE, SECONDS)
            settings["linger.ms"] = 5
            figures |= flat_out(settings, name, [VALUE] * RECORDS)
        rows.append((title, figures))
    return rows


ACKS = Experiment(
    "acks",
    "How long does a producer wait, by who must have the record?",
    run,
    (("p50_ms", "p50, ms"), ("p99_ms", "p99, ms"), ("records_per_s", "records/s, flat out")),
)
