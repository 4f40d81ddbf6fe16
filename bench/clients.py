"""confluent-kafka as people use it: one producer, one consumer, its own defaults.

Run as a process of its own (`python -m bench.clients produce|consume ...`), so that its threads and memory do not
mix with those of the bench. Prints one line of JSON.
"""

import json
import os
import subprocess
import sys
import time
from statistics import quantiles

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

BATCH_MAX = 10_000
IDLE_TIMEOUT_S = 20.0
# Read before the clock starts: connecting takes as long as thousands of records and says nothing about reading.
FIRST_RECORDS = 1_000
# With its own second, the client rests whenever its queue is full, and that is all that one measures.
QUEUE_BACKOFF_MS = 5
TRANSACTION_S = 0.1
COMMITS_MIN = 100

Figures = dict[str, float]


MORE_SETTINGS = "BENCH_CLIENT_SETTINGS"
"""The variable that has further settings of the clients, as JSON: how they get in, say."""


def run_client(
    mode: str,
    port: int,
    topic: str,
    partitions: int,
    records: int,
    value_bytes: int,
    settings: dict[str, str] | None = None,
) -> Figures:
    arguments = [mode, str(port), topic, str(partitions), str(records), str(value_bytes)]
    command = [sys.executable, "-m", "bench.clients", *arguments]
    around = {**os.environ, MORE_SETTINGS: json.dumps(settings or {})}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=around)
    if done.returncode != 0:
        raise RuntimeError(f"{mode} with confluent-kafka failed:\n{done.stdout}{done.stderr}")
    figures: Figures = json.loads(done.stdout)
    return figures


def produce(port: int, topic: str, partitions: int, records: int, value_bytes: int) -> Figures:
    errors: list[str] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            errors.append(str(error))

    producer = Producer({**_settings(port), "queue.buffering.max.messages": 1_000_000})
    value = bytes(value_bytes)
    started = time.monotonic()
    for number in range(records):
        while True:
            try:
                producer.produce(topic, value, partition=number % partitions, on_delivery=on_delivery)
                break
            except BufferError:
                producer.poll(0.01)
        if number % BATCH_MAX == 0:
            producer.poll(0)
    left = producer.flush(IDLE_TIMEOUT_S)
    taken_s = time.monotonic() - started
    if left or errors:
        raise RuntimeError(f"{left} records left, errors: {errors[:3]}")
    return {"records_per_s": records / taken_s}


def _settings(port: int) -> dict[str, str]:
    more: dict[str, str] = json.loads(os.environ.get(MORE_SETTINGS, "{}"))
    return {"bootstrap.servers": f"127.0.0.1:{port}", **more}


def consume(port: int, topic: str, partitions: int, records: int, value_bytes: int) -> Figures:
    settings: dict[str, str | int | bool] = {
        **_settings(port),
        "group.id": "bench",
        "enable.auto.commit": False,
        "fetch.queue.backoff.ms": QUEUE_BACKOFF_MS,
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
    seen_bytes = _read(consumer, FIRST_RECORDS)
    started = time.monotonic()
    seen_bytes += _read(consumer, records - FIRST_RECORDS)
    taken_s = time.monotonic() - started
    consumer.close()
    if seen_bytes != records * value_bytes:
        raise RuntimeError(f"{seen_bytes} bytes came, {records * value_bytes} were sent")
    return {"records_per_s": (records - FIRST_RECORDS) / taken_s}


def transact(port: int, topic: str, partitions: int, records: int, value_bytes: int) -> Figures:
    """Transactions of 100 ms, until so many records are committed, and in many of them. What is sent is flushed before
    the clock of the commit starts: it is the end of a transaction that is timed."""
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "transactional.id": topic, "linger.ms": 5})
    producer.init_transactions(IDLE_TIMEOUT_S)
    value, written = bytes(value_bytes), 0
    commits_ms: list[float] = []
    started = time.monotonic()
    while written < records or len(commits_ms) < COMMITS_MIN:
        written += _one_transaction(producer, topic, partitions, value)
        ended = time.monotonic()
        producer.commit_transaction(IDLE_TIMEOUT_S)
        commits_ms.append((time.monotonic() - ended) * 1000)
    taken_s = time.monotonic() - started
    percentiles = quantiles(commits_ms, n=100)
    return {"records_per_s": written / taken_s, "commit_p50_ms": percentiles[49], "commit_p99_ms": percentiles[98]}


def _one_transaction(producer: Producer, topic: str, partitions: int, value: bytes) -> int:
    producer.begin_transaction()
    count, until = 0, time.monotonic() + TRANSACTION_S
    while time.monotonic() < until:
        try:
            producer.produce(topic, value, partition=count % partitions)
            count += 1
        except BufferError:
            producer.poll(0.001)
    producer.flush(IDLE_TIMEOUT_S)
    return count


def _read(consumer: Consumer, records: int) -> int:
    """The bytes of the next records; a call of the client returns when it has all that it was asked for."""
    seen = seen_bytes = 0
    while seen < records:
        messages = consumer.consume(min(BATCH_MAX, records - seen), timeout=IDLE_TIMEOUT_S)
        if not messages:
            raise RuntimeError(f"nothing came after {seen} of {records} records")
        seen += len(messages)
        seen_bytes += sum(len(message.value() or b"") for message in messages)
    return seen_bytes


def main() -> None:
    mode, port, topic, partitions, records, value_bytes = sys.argv[1:]
    work = {"produce": produce, "consume": consume, "transact": transact}[mode]
    print(json.dumps(work(int(port), topic, int(partitions), int(records), int(value_bytes))))


if __name__ == "__main__":
    main()
