"""The bytes in `__consumer_offsets`, spelled out: Kafka's tools must be able to read them."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.groups.classic.group import ClassicGroup
from penstock.core.groups.classic.member import Member
from penstock.core.groups.classic.records import decode_group_value, group_metadata_record, group_tombstone, restored
from penstock.core.groups.classic.states import State
from penstock.core.groups.offsets.records import (
    decode_offset_key,
    decode_offset_value,
    offset_record,
    offset_tombstone,
)
from penstock.core.groups.offsets.store import CommittedOffset
from penstock.core.groups.topics import NO_TOPIC_ID
from penstock.core.wire.stored.classic_group import GroupMetadataValue
from tests.groups.world import World

TOPIC_ID = bytes(range(16))


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def _blob(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def test_offset_commit_has_version_4_with_the_topic_id_as_tagged_field() -> None:
    key, value = offset_record("g", "orders", 3, CommittedOffset(42, 7, "note", 1000, None, TOPIC_ID))
    assert key == b"\0\1" + _string("g") + _string("orders") + struct.pack(">i", 3)
    assert value == b"\0\4" + struct.pack(">qi", 42, 7) + b"\5note" + struct.pack(">q", 1000) + b"\1\0\x10" + TOPIC_ID


def test_offset_commit_with_an_expiry_has_version_1() -> None:
    _, value = offset_record("g", "orders", 3, CommittedOffset(42, 7, "note", 1000, 6000, TOPIC_ID))
    assert value == b"\0\1" + struct.pack(">q", 42) + _string("note") + struct.pack(">qq", 1000, 6000)


def test_offset_tombstone() -> None:
    key, value = offset_tombstone("g", "orders", 3)
    assert key == offset_record("g", "orders", 3, CommittedOffset(0, -1, "", 0, None, NO_TOPIC_ID))[0]
    assert value is None


def test_group_metadata_has_version_3() -> None:
    group = ClassicGroup("g", 5000)
    group.add(Member("m-1", "one", "c", "/127.0.0.1", 60_000, 10_000, (("range", b"sub"),)), "consumer")
    group.generation = 4
    group.protocol = "range"
    key, value = group_metadata_record(group, {"m-1": b"part"})
    assert key == b"\0\2" + _string("g")
    member = _string("m-1") + _string("one") + _string("c") + _string("/127.0.0.1")
    member += struct.pack(">ii", 60_000, 10_000) + _blob(b"sub") + _blob(b"part")
    head = _string("consumer") + struct.pack(">i", 4) + _string("range") + _string("m-1") + struct.pack(">q", 5000)
    assert value == b"\0\3" + head + struct.pack(">i", 1) + member
    assert group_tombstone("g") == (key, None)


def test_older_values_are_read() -> None:
    """Version 0 knows neither rebalance timeouts nor since when the state holds."""
    value = (
        b"\0\0" + _string("consumer") + struct.pack(">i", 4) + _string("range") + _string("m") + struct.pack(">i", 1)
    )
    value += _string("m") + _string("c") + _string("/h") + struct.pack(">i", 9000) + _blob(b"s") + _blob(b"a")
    group = restored("g", decode_group_value(value))
    assert group.state is State.STABLE
    assert group.state_since_ms is None
    assert group.members["m"].rebalance_timeout_ms == 9000
    assert group.members["m"].assignment == b"a"

    value = b"\0\0" + struct.pack(">q", 5) + _string("note") + struct.pack(">q", 1000)
    assert decode_offset_value(value) == CommittedOffset(5, -1, "note", 1000, None, NO_TOPIC_ID)


@given(
    offset=st.integers(0, 2**63 - 1),
    epoch=st.integers(-1, 2**31 - 1),
    metadata=st.text(max_size=20),
    topic_id=st.binary(min_size=16, max_size=16),
    expires_ms=st.none() | st.integers(0, 2**62),
)
def test_offset_round_trip(offset: int, epoch: int, metadata: str, topic_id: bytes, expires_ms: int | None) -> None:
    commit = CommittedOffset(offset, epoch, metadata, 1000, expires_ms, topic_id)
    key, value = offset_record("группа", "topic", 2**31 - 1, commit)
    assert value is not None
    where = decode_offset_key(key)
    assert (where.group, where.topic, where.partition) == ("группа", "topic", 2**31 - 1)
    kept = commit if expires_ms is None else commit._replace(leader_epoch=-1, topic_id=NO_TOPIC_ID)
    assert decode_offset_value(value) == kept


def test_a_group_without_a_protocol_comes_back_as_nothing() -> None:
    group = restored("g", GroupMetadataValue(protocol_type="", generation=0, current_state_timestamp=7))
    assert (group.state, group.protocol_type, group.state_since_ms) == (State.EMPTY, None, 7)


def _generation_of(*members: str) -> ClassicGroup:
    group = ClassicGroup("g", 5000)
    for member_id in members:
        group.add(Member(member_id, None, "c", "/h", 60_000, 10_000, (("range", b""),)), "consumer")
    group.generation, group.protocol = 4, "range"
    return group


def test_of_two_records_of_a_generation_the_later_one_says_who_is_in_it() -> None:
    """A static member that came back under another id is written down without a new generation."""
    shard = World().shard
    for members, part in ((("a", "b"), b"1"), (("a", "c"), b"2"), (("a", "c"), b"3")):
        shard.replay(*group_metadata_record(_generation_of(*members), dict.fromkeys(members, part)), 0)
        group = shard.groups["g"]
        assert isinstance(group, ClassicGroup)
        assert {each: member.assignment for each, member in group.members.items()} == dict.fromkeys(members, part)
        assert group.state is State.STABLE


def test_a_group_that_had_offsets_first_is_what_its_record_says() -> None:
    shard = World().shard
    shard.replay(*offset_record("g", "orders", 0, CommittedOffset(5, -1, "", 0, None, NO_TOPIC_ID)), 99)
    emptied = ClassicGroup("g", 5000)
    emptied.protocol_type = "consumer"
    shard.replay(*group_metadata_record(emptied, {}), 99)
    group = shard.groups["g"]
    assert isinstance(group, ClassicGroup)
    assert (group.protocol_type, group.state_since_ms) == ("consumer", 5000)
