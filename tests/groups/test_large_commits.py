"""What does not fit into one batch of the offsets topic is not committed, as in Kafka."""

from __future__ import annotations

import pytest

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.settings import GroupSettings
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.groups.world import World

BATCH_BYTES_MAX = 2_000


@pytest.mark.parametrize(("count", "note", "code"), [(10, "", 0), (10, "x" * 200, -1), (2_000, "", -1)])
def test_a_commit_within_and_beyond_a_batch(count: int, note: str, code: int) -> None:
    world = World(GroupSettings(batch_bytes_max=BATCH_BYTES_MAX))
    part = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=note)
    request = OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name="orders", partitions=[part] * count)],
    )
    answer = world.answers[world.ask(request, 8)]
    assert isinstance(answer, OffsetCommitResponse)
    assert {ErrorCode(each.error_code) for each in answer.topics[0].partitions} == {ErrorCode(code)}
    assert len(world.log) == (0 if code else count)
