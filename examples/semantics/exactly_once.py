"""Exactly once: the work and the commit are one transaction. A crash in between undoes both."""

from __future__ import annotations

from collections.abc import Sequence

from examples.semantics.job import BATCH, Job, doubled, main
from penstock import Producer, Record, read_process_write


def run(job: Job) -> None:
    """None is lost and none doubled, for whoever reads what is committed."""

    def handle(records: Sequence[Record]) -> None:
        for record in records:
            producer.send(job.target, record.key, doubled(record))
        producer.flush()
        job.perhaps_die(records)

    def is_done() -> bool:
        return any(each.offset >= job.count for each in consumer.committed())

    with Producer(job.bootstrap, transactional_id=job.name) as producer, job.consumer() as consumer:
        read_process_write(consumer, producer, handle, records_max=BATCH, stop=is_done)


if __name__ == "__main__":
    main(run)
