"""What is measured, on which load, and what the figures must reach beside Kafka's in the same run."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.brokers import Broker, PenstockBroker, touch_memory
from bench.clients import run_client
from bench.loadgen import Figures, Options, run_load
from bench.topics import topic

CLIENT_PARTITIONS = 4
# 160 records that make a batch of 16 KB with their framing.
SMALL_BATCHES: dict[str, int] = {"records": 160, "value_bytes": 93}
IN_TRANSACTIONS: dict[str, int] = {"transaction_ms": 100}
# A round's data stays in memory until its topic is deleted, so a fast broker stops here and not at the clock.
VOLUME_MB_MAX = 4_000
SMALL_VOLUME_MB_MAX = 400
FETCH_FILL_MB = 1_000
FETCH_FILL_S = 60
IDLE_SETTLE_S = 3.0
MANY_PARTITIONS = 10_000


@dataclass(frozen=True, slots=True)
class Scale:
    """How long and how often; the loads themselves are always the same."""

    rounds: int
    seconds: float
    warmup_s: float
    broker_warmup_s: float
    client_mb: int
    idle_s: float
    stall_s: float


FULL = Scale(rounds=5, seconds=3, warmup_s=1, broker_warmup_s=10, client_mb=400, idle_s=10, stall_s=60)
QUICK = Scale(rounds=1, seconds=2, warmup_s=1, broker_warmup_s=3, client_mb=20, idle_s=5, stall_s=5)


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure and its bounds: ratios are Penstock's by Kafka's, limits are Penstock's own."""

    key: str
    unit: str
    higher_is_better: bool
    ratio_floor: float | None = None
    ratio_aim: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    title: str
    run: Callable[[Broker, Scale], Figures]
    metrics: tuple[Metric, ...]
    rounds: int | None = None
    # A question about Penstock alone gets a node of its own, made by this.
    alone: Callable[[], Broker] | None = None
    # Speaks the protocol's bare requests, which the floor understands too.
    raw: bool = False


def _produce(broker: Broker, scale: Scale, volume_mb_max: int, shape: Options) -> Figures:
    with topic(broker, int(shape["partitions"])) as name:
        touch_memory(volume_mb_max)
        return run_load("produce", {**_load(broker, scale, name), "volume_mb_max": volume_mb_max, **shape})


def _load(broker: Broker, scale: Scale, name: str) -> Options:
    return {"port": broker.port, "topic": name, "warmup_s": scale.warmup_s, "seconds": scale.seconds}


def small_requests(broker: Broker, scale: Scale) -> Figures:
    shape: Options = {"partitions": 8, "connections": 8, "depth": 5, "records": 1, "value_bytes": 100}
    return _produce(broker, scale, SMALL_VOLUME_MB_MAX, shape)


def batches_16k(broker: Broker, scale: Scale) -> Figures:
    shape: Options = {"partitions": 8, "connections": 8, "depth": 5, **SMALL_BATCHES}
    return _produce(broker, scale, VOLUME_MB_MAX, shape)


def transact_small(broker: Broker, scale: Scale) -> Figures:
    shape: Options = {"partitions": 8, "connections": 8, "depth": 5, "records": 1, "value_bytes": 100}
    return _produce(broker, scale, SMALL_VOLUME_MB_MAX, {**shape, **IN_TRANSACTIONS})


def transact_16k(broker: Broker, scale: Scale) -> Figures:
    shape: Options = {"partitions": 8, "connections": 8, "depth": 5, **SMALL_BATCHES}
    return _produce(broker, scale, VOLUME_MB_MAX, {**shape, **IN_TRANSACTIONS})


def one_partition_100k(broker: Broker, scale: Scale) -> Figures:
    shape: Options = {"partitions": 1, "connections": 1, "depth": 5, "records": 100, "value_bytes": 1014}
    return _produce(broker, scale, VOLUME_MB_MAX, shape)


def latency_depth_1(broker: Broker, scale: Scale) -> Figures:
    shape: Options = {"partitions": 1, "connections": 1, "depth": 1, "records": 1, "value_bytes": 1024}
    return _produce(broker, scale, SMALL_VOLUME_MB_MAX, shape)


def fetch_1mb(broker: Broker, scale: Scale) -> Figures:
    with topic(broker, 1) as name:
        touch_memory(FETCH_FILL_MB)
        load: Options = {**_load(broker, scale, name), **SMALL_BATCHES}
        filled = run_load("produce", {**load, "depth": 5, "seconds": FETCH_FILL_S, "volume_mb_max": FETCH_FILL_MB})
        batches = int(filled["volume_mb"] * 1e6 / filled["batch_bytes"])
        return run_load("fetch", {**load, "end_offset": (batches - 1) * SMALL_BATCHES["records"]})


def warm_up(broker: Broker, scale: Scale) -> None:
    """A JVM that has not compiled its hot paths is two to three times slower than one that has."""
    longer = replace(scale, seconds=scale.broker_warmup_s, warmup_s=0)
    for work in (small_requests, batches_16k, fetch_1mb):
        work(broker, longer)


def client_produce(value_bytes: int) -> Callable[[Broker, Scale], Figures]:
    def run(broker: Broker, scale: Scale) -> Figures:
        with topic(broker, CLIENT_PARTITIONS) as name:
            return _client(broker, scale, "produce", name, value_bytes)

    return run


def client_consume(value_bytes: int) -> Callable[[Broker, Scale], Figures]:
    def run(broker: Broker, scale: Scale) -> Figures:
        with topic(broker, CLIENT_PARTITIONS) as name:
            _client(broker, scale, "produce", name, value_bytes)
            return _client(broker, scale, "consume", name, value_bytes)

    return run


def client_transact(value_bytes: int) -> Callable[[Broker, Scale], Figures]:
    def run(broker: Broker, scale: Scale) -> Figures:
        with topic(broker, CLIENT_PARTITIONS) as name:
            records = scale.client_mb * 1_000_000 // value_bytes
            return run_client("transact", broker.port, name, CLIENT_PARTITIONS, records, value_bytes)

    return run


def _client(broker: Broker, scale: Scale, mode: str, name: str, value_bytes: int) -> Figures:
    records = scale.client_mb * 1_000_000 // value_bytes
    before = broker.usage()
    figures = run_client(mode, broker.port, name, CLIENT_PARTITIONS, records, value_bytes)
    spent_s = broker.usage().cpu_s - before.cpu_s
    return {**figures, "broker_cpu_us_per_record": spent_s * 1e6 / records}


def many_partitions(broker: Broker, scale: Scale) -> Figures:
    """The broker's processor time per request: one partition alone; the same with 10,000 beside it; all 10,000."""
    alone = _request_cost_us(broker, scale, 1)
    with topic(broker, MANY_PARTITIONS) as many:
        beside = _request_cost_us(broker, scale, 1)
        spread = _cost_us(broker, scale, many, MANY_PARTITIONS, ("--rotate",))
    return {
        "alone_us": alone,
        "beside_us": beside,
        "spread_us": spread,
        "beside_by_alone": beside / alone,
        "spread_by_alone": spread / alone,
    }


def _request_cost_us(broker: Broker, scale: Scale, partitions: int) -> float:
    with topic(broker, partitions) as name:
        return _cost_us(broker, scale, name, partitions)


def _cost_us(broker: Broker, scale: Scale, name: str, partitions: int, flags: tuple[str, ...] = ()) -> float:
    shape: Options = {"partitions": partitions, "connections": 8, "depth": 5, "warmup_s": 0}
    load: Options = {**_load(broker, scale, name), **shape}
    run_load("produce", {**load, "seconds": scale.warmup_s}, flags)
    before = broker.usage()
    figures = run_load("produce", load, flags)
    return (broker.usage().cpu_s - before.cpu_s) * 1e6 / figures["requests"]


def stall(broker: Broker, scale: Scale) -> Figures:
    """Old segments are deleted while the load goes on, because that is when a loop is tempted to wait."""
    assert isinstance(broker, PenstockBroker), "only Penstock has this metric"
    with topic(broker, 8, {"segment.bytes": str(32 << 20), "retention.bytes": str(128 << 20)}) as name:
        shape: Options = {"partitions": 8, "connections": 8, "depth": 5, "seconds": scale.stall_s, **SMALL_BATCHES}
        figures = run_load("produce", {**_load(broker, scale, name), **shape})
    return {"mb_per_s": figures["mb_per_s"], "stall_ms_max": broker.metric("penstock_loop_stall_ms_max")}


def memory(broker: Broker, _scale: Scale) -> Figures:
    return {"resident_mb": broker.usage().resident_mb}


def idle(broker: Broker, scale: Scale) -> Figures:
    time.sleep(IDLE_SETTLE_S)
    before = broker.usage()
    time.sleep(scale.idle_s)
    return {"cpu_percent": (broker.usage().cpu_s - before.cpu_s) / scale.idle_s * 100}


def first_reply(broker: Broker, _scale: Scale) -> Figures:
    return {"seconds": broker.restart_timed()}


def _throughput(key: str, unit: str, floor: float, aim: float | None, limit: float | None = None) -> Metric:
    return Metric(key, unit, True, floor, aim, limit)


P99_UNDER_LOAD = Metric("p99_ms", "ms", False, 0.6, 0.3)
COMMITS = (Metric("commit_p50_ms", "ms", False), Metric("commit_p99_ms", "ms", False, 0.7))
STALL = Metric("stall_ms_max", "ms", False)
CLIENT = (
    _throughput("records_per_s", "records/s", 0.95, None),
    Metric("broker_cpu_us_per_record", "us", False, 0.5),
)

# In this order: memory is looked at after the loads, and a restart comes last.
SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "small_requests",
        "8 connections, depth 5, one 100 B record per request",
        small_requests,
        (_throughput("requests_per_s", "req/s", 1.3, 2.0), P99_UNDER_LOAD),
        raw=True,
    ),
    Scenario(
        "batches_16k",
        "8 connections, depth 5, 16 KB batches of 160 records",
        batches_16k,
        (_throughput("mb_per_s", "MB/s", 1.5, 2.0), P99_UNDER_LOAD),
        raw=True,
    ),
    Scenario(
        "one_partition_100k",
        "1 partition, 1 connection, depth 5, 100 KB batches of 100 records",
        one_partition_100k,
        (_throughput("mb_per_s", "MB/s", 2.5, 3.3, limit=100.0), P99_UNDER_LOAD),
        raw=True,
    ),
    Scenario(
        "latency_depth_1",
        "1 connection, depth 1, one 1 KB record per request",
        latency_depth_1,
        (Metric("p50_ms", "ms", False, 1.0), Metric("p99_ms", "ms", False, 0.8)),
        raw=True,
    ),
    Scenario(
        "fetch_1mb",
        "fetch, 1 partition, 1 connection, 1 MB responses",
        fetch_1mb,
        (_throughput("mb_per_s", "MB/s", 1.0, 1.4),),
        raw=True,
    ),
    Scenario("client_produce_100b", "confluent-kafka producer, 100 B", client_produce(100), CLIENT),
    Scenario("client_produce_1k", "confluent-kafka producer, 1 KB", client_produce(1_000), CLIENT),
    Scenario("client_consume_100b", "confluent-kafka consumer, 100 B", client_consume(100), CLIENT),
    Scenario("client_consume_1k", "confluent-kafka consumer, 1 KB", client_consume(1_000), CLIENT),
    Scenario(
        "transact_small",
        "8 connections, depth 5, one 100 B record per request, transactions of 100 ms",
        transact_small,
        (_throughput("requests_per_s", "req/s", 1.5, None), *COMMITS),
    ),
    Scenario(
        "transact_16k",
        "8 connections, depth 5, 16 KB batches of 160 records, transactions of 100 ms",
        transact_16k,
        (_throughput("mb_per_s", "MB/s", 1.5, None), *COMMITS),
    ),
    Scenario(
        "client_transact_1k",
        "confluent-kafka, transactions of 100 ms, 1 KB",
        client_transact(1_000),
        (_throughput("records_per_s", "records/s", 1.5, None), *COMMITS),
    ),
    Scenario("memory", "resident memory after the runs", memory, (Metric("resident_mb", "MB", False, 1 / 8),), 1),
    Scenario("idle", "processor time when idle", idle, (Metric("cpu_percent", "%", False, limit=1.0),), 1),
    Scenario("first_reply", "exec to first reply", first_reply, (Metric("seconds", "s", False, 1 / 8),)),
    Scenario(
        "many_partitions",
        "a small request among 10,000 partitions, by one alone",
        many_partitions,
        (
            Metric("beside_by_alone", "x", False, limit=1.3),
            Metric("spread_by_alone", "x", False),
        ),
        1,
        alone=PenstockBroker,
    ),
    Scenario(
        "stall_memory",
        "longest loop stall at full speed, on tmpfs",
        stall,
        (STALL,),
        1,
        alone=PenstockBroker.brief,
    ),
    Scenario(
        "stall_disk",
        "longest loop stall at full speed, on disk",
        stall,
        (STALL,),
        1,
        alone=PenstockBroker.brief_on_disk,
    ),
)
