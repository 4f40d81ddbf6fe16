"""At least once: work, then commit. A crash in between does again what was done and not committed."""

from __future__ import annotations

from examples.semantics.job import Job, doubled, main
from penstock import Producer


def run(job: Job) -> None:
    """None is lost, some may be doubled."""
    with Producer(job.bootstrap) as producer, job.consumer() as consumer:
        for batch in job.batches(consumer):
            sent = [producer.send(job.target, record.key, doubled(record)) for record in batch]
            producer.flush()
            for each in sent:
                each.result()
            job.perhaps_die(batch)
            consumer.commit_offsets(batch)


if __name__ == "__main__":
    main(run)
