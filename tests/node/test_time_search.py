"""Looking for a time in a batch that is not small: nobody else waits for that."""

from __future__ import annotations

import pytest

from penstock.core.base.ports import Done, FileOp, RunJob
from penstock.core.records.codecs import Codec
from penstock.core.wire.api.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.node.world import NOW_MS, World, produce

LATEST_TIME = -3


@pytest.mark.parametrize(
    ("values", "is_elsewhere"), [([b"small"], False), ([bytes(1_000_000)], True), ([b""] * 1000, True)]
)
def test_a_batch_that_unpacks_to_much_is_searched_elsewhere(values: list[bytes], is_elsewhere: bool) -> None:
    world = World()
    world.create("t")
    client = world.client()
    client.ask(produce("t", *values, codec=Codec.GZIP), 9)
    jobs: list[RunJob] = []
    perform = world.files.perform

    def watching(op: FileOp, done: Done) -> object:
        if isinstance(op, RunJob):
            jobs.append(op)
        return perform(op, done)

    world.files.perform = watching  # type: ignore[method-assign]  # to see what is asked
    for timestamp in (NOW_MS, LATEST_TIME):
        partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=[partition])])
        (found,) = client.ask(request, 7).topics[0].partitions
        assert (found.timestamp, found.offset) == (NOW_MS, 0)
    assert [job.is_awaited for job in jobs] == [True, True] * is_elsewhere
