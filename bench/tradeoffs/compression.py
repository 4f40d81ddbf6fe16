"""Bytes against processor time: what a codec saves on three disks, and what it costs the producer."""

import time

from bench.clusters import PenstockNodes
from bench.tradeoffs.experiment import Experiment, Row, bootstrap_of, topic
from bench.tradeoffs.producing import Settings, flat_out, orders

CODECS = ("none", "snappy", "lz4", "zstd", "gzip")
RECORDS = 300_000


def run(nodes: PenstockNodes) -> list[Row]:
    values = orders(RECORDS)
    rows: list[Row] = []
    for codec in CODECS:
        settings: Settings = {
            "bootstrap.servers": bootstrap_of(nodes),
            "acks": "all",
            "linger.ms": 20,
            "compression.type": codec,
        }
        with topic(nodes, 3) as name:
            before = time.process_time()
            figures = flat_out(settings, name, values)
            figures["producer_us"] = (time.process_time() - before) / RECORDS * 1e6
            figures["bytes_per_record"] = log_bytes(nodes, name) / RECORDS
        rows.append((codec, figures))
    return rows


def log_bytes(nodes: PenstockNodes, name: str) -> int:
    """What one replica of the topic takes."""
    return sum(file.stat().st_size for file in nodes.data_dir(1).rglob(f"{name}-*/*.log"))


COMPRESSION = Experiment(
    "compression",
    "Orders as JSON: how small do they get, and who pays?",
    run,
    (
        ("bytes_per_record", "bytes per record and replica"),
        ("producer_us", "producer's processor time, us per record"),
        ("records_per_s", "records/s, flat out"),
    ),
)
