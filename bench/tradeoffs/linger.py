"""Throughput against latency: how long a producer waits for company before it sends."""

from bench.clusters import PenstockNodes
from bench.tradeoffs.experiment import Experiment, Row, bootstrap_of, topic
from bench.tradeoffs.producing import Settings, at_a_pace

PACE, SECONDS = 5_000, 6.0
VALUE = b"x" * 200
LINGERS_MS = (0, 1, 5, 20, 100)


def run(nodes: PenstockNodes) -> list[Row]:
    rows: list[Row] = []
    for linger_ms in LINGERS_MS:
        settings: Settings = {"bootstrap.servers": bootstrap_of(nodes), "acks": "all", "linger.ms": linger_ms}
        with topic(nodes, 3) as name:
            before = nodes.usage().cpu_s
            figures = at_a_pace(settings, name, VALUE, PACE, SECONDS)
            spent_s = nodes.usage().cpu_s - before
        rows.append((f"linger.ms={linger_ms}", {**figures, "cores": spent_s / SECONDS}))
    return rows


LINGER = Experiment(
    "linger",
    f"{PACE:,} records a second: what does waiting for company save?",
    run,
    (("p50_ms", "p50, ms"), ("p99_ms", "p99, ms"), ("cores", "cores that three nodes keep busy")),
)
