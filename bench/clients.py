"""confluent-kafka as people use it: one producer, one consumer, its own defaults.

Run as a process of its own (`python -m bench.clients produce|consume ...`), so that its threads and memory do not
mix with those of the bench. Prints one line of JSON.
"""

import json
import subprocess
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

BATCH_MAX = 10_000
IDLE_TIMEOUT_S = 20.0
# Read before the clock starts: connecting takes as long as thousands of records and says nothing about reading.
FIRST_RECORDS = 1_000
# With its own second, the client rests whenever its queue is full, and that is all that one measures.
QUEUE_BACKOFF_MS = 5


def run_client(mode: str, port: int, topic: str, partitions: int, records: int, value_bytes: int) -> dict[str, float]:
    arguments = [mode, str(port), topic, str(partitions), str(records), str(value_bytes)]
    done = subprocess.run(
        [sys.executable, "-m", "bench.clients", *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{mode} with confluent-kafka failed:\n{done.stdout}{done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def produce(port: int, topic: str, partitions: int, records: int, value_bytes: int) -> float:
    errors: list[str] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            errors.append(str(error))

    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "queue.buffering.max.messages": 1_000_000})
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
    return records / taken_s


def consume(port: int, topic: str, partitions: int, records: int, value_bytes: int) -> float:
    settings: dict[str, str | int | bool] = {
        "bootstrap.servers": f"127.0.0.1:{port}",
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
    return (records - FIRST_RECORDS) / taken_s


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
    work = {"produce": produce, "consume": consume}[mode]
    records_per_s = work(int(port), topic, int(partitions), int(records), int(value_bytes))
    print(json.dumps({"records_per_s": records_per_s}))


if __name__ == "__main__":
    main()
