"""Why a batch cannot go on, each in one line that says what to do."""

from penstock.core.base.errors import PenstockError


class SinkFailure(PenstockError):
    """The batch has not been counted, or not all of it: the query stops, and nothing is lost or doubled by that."""


class Superseded(SinkFailure):
    def __init__(self, query: str) -> None:
        super().__init__(
            f"another query with the name {query} has begun after this one: give each query a queryName of its own, or "
            "run only one of them"
        )


class PartGone(SinkFailure):
    def __init__(self, query: str, batch: int, task: str) -> None:
        super().__init__(
            f"batch {batch} of {query} is not committed: the transaction of its task {task} has ended before the batch "
            "was complete. Start the query again; if it happens often, raise kafka.transaction.timeout.ms"
        )


class WrittenAgain(SinkFailure):
    def __init__(self, query: str, batch: int, count: int) -> None:
        super().__init__(
            f"batch {batch} of {query} is recorded, and {count} of its transactions had timed out: start the query "
            "again, and just these are written again"
        )


class NameTaken(SinkFailure):
    def __init__(self, query: str, checkpoint: str) -> None:
        there = f" with the checkpoint {checkpoint}" if checkpoint else ""
        super().__init__(f"the name {query} belongs to another query{there}: choose another queryName for one of them")


class CheckpointGone(SinkFailure):
    def __init__(self, query: str, batch: int) -> None:
        super().__init__(
            f"query {query} has written its batches up to {batch}, and its checkpoint was deleted since: to write "
            "everything once more, choose another queryName; else restore the checkpoint"
        )


class CheckpointOld(SinkFailure):
    def __init__(self, query: str, batch: int, newest: int) -> None:
        super().__init__(
            f"query {query} comes with batch {batch}, and has written its batches up to {newest}: its checkpoint is "
            "older than what it wrote. Restore the newer one, or choose another queryName to write all of it again"
        )


class OtherTasks(SinkFailure):
    def __init__(self, query: str, batch: int, was: int, now: int) -> None:
        super().__init__(
            f"batch {batch} of {query} was written by {was} tasks, a part of it has to be written again, and now "
            f"it has {now}: set spark.sql.shuffle.partitions or minPartitions to what it was, until this batch is done"
        )


class OtherRows(SinkFailure):
    def __init__(self, query: str, batch: int, task: str) -> None:
        super().__init__(
            f"batch {batch} of {query}: task {task} is to write its rows again, and they are others now: a query whose "
            "rows change from run to run (rand, current_timestamp, a sort that is not total) cannot be exactly once"
        )
