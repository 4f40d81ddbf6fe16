"""Decoding in a batch that is exactly once: the same rows, and dead letters in a transaction that the driver ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext

from penstock.client.errors import ClientError
from penstock.spark.pipelines.burial import Burial, Reading, letters_task
from penstock.spark.pipelines.decoding import BatchDecoder, DeadLetter, decode_batches
from penstock.spark.pipelines.handing import PROPERTY, Decoded, Handed, handed
from penstock.spark.rows.filling import performer_of
from penstock.spark.rows.links import client_of
from penstock.spark.rows.settings import ClientSettings

if TYPE_CHECKING:
    from penstock.spark.pipelines.frames import DecodeTask


def handed_to_task() -> Handed | None:
    context = TaskContext.get()
    return None if context is None else handed(context.getLocalProperty(PROPERTY))


def decode_once(work: DecodeTask, decoder: BatchDecoder, here: Handed, batches: Iterator[Any]) -> Iterator[Any]:
    context = TaskContext.get()
    assert context is not None, "a task has a context"
    task = letters_task(work.source, context.partitionId())
    settings = ClientSettings.of(work.cluster.options())
    buried = Counter[tuple[str, int]]()
    with client_of(settings) as client:
        burial = Burial(
            client,
            performer_of(client, settings),
            here.queries[work.source],
            task,
            context.attemptNumber(),
            work.pipeline,
            work.topics,
            here.is_written(work.source, task),
        )

        def bury(letters: Sequence[DeadLetter]) -> None:
            buried.update((letter.record.topic, letter.record.partition) for letter in letters)
            burial(letters)

        reading = Reading()
        try:
            yield from decode_batches(reading.watched(batches), decoder, bury)
            part = burial.done()
        except BaseException:
            # Readers need not wait for it until it times out; what went wrong is what is to be heard of.
            with suppress(ClientError):
                burial.abort()
            raise
    work.tell.add([Decoded(work.source, task, here.batch, reading.reads(buried), part)])
