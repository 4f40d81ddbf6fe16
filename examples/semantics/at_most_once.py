"""At most once: commit, then work. A crash in between loses what was committed and not done."""

from __future__ import annotations

from examples.semantics.job import Job, doubled, main
from penstock import Producer


def run(job: Job) -> None:
    """Some may be lost, none is ever doubled."""
    # Without retries that might write twice, and without waiting for copies.
    with Producer(job.bootstrap, config={"acks": 1, "retries": 0}) as producer, job.consumer() as consumer:
        for batch in job.batches(consumer):
            consumer.commit_offsets(batch)
            job.perhaps_die(batch)
            for record in batch:
                producer.send(job.target, record.key, doubled(record))
            producer.flush()


if __name__ == "__main__":
    main(run)
