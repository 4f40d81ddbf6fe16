"""The short way of an answer to a follower and the general one: the same bytes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.base.ports import File, Slice
from penstock.core.node.fetching.follower_replies import SINCE, Template
from penstock.core.wire.api.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from penstock.core.wire.frames import response_frame

offsets = st.integers(0, 2**63 - 1)


@given(
    version=st.integers(SINCE, FetchResponse.VERSIONS[-1]),
    session_id=st.integers(1, 2**31 - 1),
    topic_id=st.binary(min_size=16, max_size=16),
    index=st.integers(0, 2**31 - 1),
    correlation_id=st.integers(0, 2**31 - 1),
    said=st.tuples(offsets, offsets, offsets),
    length=st.one_of(st.integers(1, 300), st.integers(1, 2**20)),
)
def test_a_filled_template_is_what_the_encoder_writes(
    version: int,
    session_id: int,
    topic_id: bytes,
    index: int,
    correlation_id: int,
    said: tuple[int, int, int],
    length: int,
) -> None:
    high_watermark, stable, start = said
    log = SimpleNamespace(start_offset=start)
    leader: Any = SimpleNamespace(high_watermark=high_watermark, last_stable_offset=stable, log=log)
    piece = Slice(File("f"), 7, length)
    template = Template.make(version, session_id, topic_id, index)
    parts, size = template.fill(correlation_id, leader, piece)
    data = PartitionData(
        partition_index=index,
        high_watermark=high_watermark,
        last_stable_offset=stable,
        log_start_offset=start,
        aborted_transactions=None,
        records=piece,
    )
    topic = FetchableTopicResponse(topic_id=topic_id, partitions=[data])
    expected = response_frame(FetchResponse(session_id=session_id, responses=[topic]), version, correlation_id)
    assert parts == expected
    assert size == sum(map(len, expected))


@pytest.mark.parametrize("version", range(SINCE, FetchResponse.VERSIONS[-1] + 1))
def test_a_topic_id_that_looks_like_the_mark_does_not_mislead(version: int) -> None:
    """It stands before the mark, which is therefore looked for from the end."""
    ordinary = Template.make(version, 1, bytes(16), 0)
    odd = Template.make(version, 1, bytes(4) + (0x7ACE_0FF5_E700_7ACE).to_bytes(8, "big") + bytes(4), 0)
    assert len(odd.before) == len(ordinary.before)
    assert odd.between == ordinary.between
