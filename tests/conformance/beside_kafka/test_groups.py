"""Groups: members that are not there, generations that have passed, offsets that nobody may commit."""

from typing import Any

import pytest

from tests.conformance.beside_kafka.side import IdOf, Side, Sides

pytestmark = [pytest.mark.java, pytest.mark.slow]

PROTOCOLS = [{"name": "range", "metadata": b"\0\1\0\0\0\0\0\0\0\0"}]
UNKNOWN_ID = bytes(range(16))


def join(group: str, member: str = "", **more: Any) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": PROTOCOLS,
    } | more


@pytest.mark.parametrize("version", range(10))
def test_joins_that_cannot_be(sides: Sides, version: int) -> None:
    group = f"unjoined-{version}"
    for values in (
        join(""),
        join(group, "stranger"),
        join(group, session_timeout_ms=1),
        join(group, session_timeout_ms=10_000_000),
        join(group, protocols=[]),
        join(group, protocol_type=""),
        join(group, protocol_type="", protocols=[]),
        join(group, "stranger", group_instance_id="fixed"),
    ):
        if version >= 5 or "group_instance_id" not in values:
            sides.same("JoinGroup", version, **values)


@pytest.mark.parametrize("assignment_bytes", [1_000_000, 1_100_000])
def test_a_generation_that_fits_into_a_batch_and_one_that_does_not(sides: Sides, assignment_bytes: int) -> None:
    group = f"large-{assignment_bytes}"

    def work(side: Side) -> list[Any]:
        member = side.ask_raw("JoinGroup", 3, **join(group)).message
        identity = {"group_id": group, "generation_id": member.generation_id, "member_id": member.member_id}
        given = [{"member_id": member.member_id, "assignment": bytes(assignment_bytes)}]
        synced = side.ask_raw("SyncGroup", 3, **identity, assignments=given).message
        return [synced.error_code, len(synced.assignment), side.ask("Heartbeat", 3, **identity)]

    sides.agree(work)


@pytest.mark.parametrize("version", range(10))
def test_a_member_through_its_life(sides: Sides, version: int) -> None:
    group = f"life-{version}"

    def work(side: Side) -> list[Any]:
        first = side.ask_raw("JoinGroup", version, **join(group))
        said = [first.seen]
        member = first.message.member_id
        if first.message.error_code:
            second = side.ask_raw("JoinGroup", version, **join(group, member))
            said.append(second.seen)
            first = second
        generation = first.message.generation_id
        identity = {"group_id": group, "generation_id": generation, "member_id": member}
        beat = min(version, 4)
        sync = min(version, 5)
        said.append(side.ask("Heartbeat", beat, **identity))
        rows = [{"member_id": member, "assignment": b"mine"}, {"member_id": "other", "assignment": b"theirs"}]
        names = {"protocol_type": "consumer", "protocol_name": "range"}
        if sync == 5:
            for wrong in ({"protocol_type": "other"}, {"protocol_name": "other"}):
                said.append(side.ask("SyncGroup", sync, **identity | names | wrong, assignments=rows))
        said.append(side.ask("SyncGroup", sync, **identity | names, assignments=rows))
        said.append(side.ask("SyncGroup", sync, **identity | names, assignments=[]))
        for wrong in ({}, {"generation_id": generation + 1}, {"generation_id": -1}, {"member_id": "other"}):
            said.append(side.ask("Heartbeat", beat, **identity | wrong))
            said.append(side.ask("SyncGroup", sync, **identity | names | wrong, assignments=[]))
        said.append(side.ask("DescribeGroups", min(version, 6), groups=[group]))
        said.append(side.ask("DeleteGroups", min(version, 2), groups_names=[group]))
        said.append(side.ask("JoinGroup", version, **join(group, protocols=[{"name": "other", "metadata": b""}])))
        said.append(side.ask("JoinGroup", version, **join(group, protocol_type="other")))
        for who in ("other", member, member):
            row = {"member_id": who, "reason": "test"}
            said.append(side.ask("LeaveGroup", min(version, 5), group_id=group, member_id=who, members=[row]))
        said.append(side.ask("DescribeGroups", min(version, 6), groups=[group]))
        said.append(side.ask("DeleteGroups", min(version, 2), groups_names=[group]))
        return said

    sides.agree(work)


def test_a_static_member(sides: Sides) -> None:
    def work(side: Side) -> list[Any]:
        static = {"group_instance_id": "fixed"}
        first = side.ask_raw("JoinGroup", 9, **join("static", **static))
        said = [first.seen]
        member, generation = first.message.member_id, first.message.generation_id
        identity = {"group_id": "static", "generation_id": generation, "member_id": member}
        said.append(
            side.ask("SyncGroup", 5, **identity | static, assignments=[{"member_id": member, "assignment": b"a"}])
        )
        again = side.ask_raw("JoinGroup", 9, **join("static", **static))
        said.append(again.seen)
        said.append(side.ask("Heartbeat", 4, **identity | static))
        said.append(side.ask("SyncGroup", 5, **identity | static, assignments=[]))
        said.append(commit(side, 9, "static", "committed-static", generation, member, **static))
        newer = {"member_id": again.message.member_id}
        said.append(side.ask("Heartbeat", 4, **identity | static | newer))
        said.append(side.ask("Heartbeat", 4, **identity | newer | {"group_instance_id": "stranger"}))
        said.append(side.ask("DescribeGroups", 5, groups=["static"]))
        rows = [{"member_id": "", "group_instance_id": "stranger"}, {"member_id": member, "group_instance_id": "fixed"}]
        said.append(side.ask("LeaveGroup", 5, group_id="static", members=rows))
        rows = [{"member_id": "", "group_instance_id": "fixed"}]
        said.append(side.ask("LeaveGroup", 5, group_id="static", members=rows))
        return said

    sides.create("committed-static")
    sides.agree(work)


@pytest.mark.parametrize("version", range(5))
def test_beats_of_strangers(sides: Sides, version: int) -> None:
    for group in ("", "nobody"):
        identity = {"group_id": group, "generation_id": 1, "member_id": "stranger"}
        sides.same("Heartbeat", version, **identity)
        sides.same("SyncGroup", version, **identity, assignments=[])
        sides.same("LeaveGroup", version, group_id=group, member_id="stranger", members=[{"member_id": "stranger"}])
    if version >= 3:
        sides.same("LeaveGroup", version, group_id="nobody", members=[])


def commit(
    side: Side, version: int, group: str, topic: str, generation: int = -1, member: str = "", **more: Any
) -> Any:
    offsets = [
        {"partition_index": index, "committed_offset": offset, "committed_metadata": note}
        for index, offset, note in ((0, 5, "note"), (1, 6, None), (7, 1, ""), (0, -1, ""))
    ]
    rows = [{"name": topic, "topic_id": IdOf(topic), "partitions": offsets[:3]}]
    values = {"group_id": group, "generation_id_or_member_epoch": generation, "member_id": member, "topics": rows}
    return side.ask("OffsetCommit", version, **values | more)


@pytest.mark.parametrize("version", range(2, 11))
def test_commits(sides: Sides, version: int) -> None:
    topic, group = f"committed-{version}", f"committing-{version}"
    sides.create(topic, 2)
    sides.agree(lambda side: commit(side, version, group, topic))
    sides.agree(lambda side: commit(side, version, group, topic, 3, "stranger"))
    sides.agree(lambda side: commit(side, version, group, topic, -1, "stranger"))
    sides.agree(lambda side: commit(side, version, "", topic))
    long = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "x" * 5000}
    row = {"name": topic, "topic_id": IdOf(topic), "partitions": [long]}
    sides.same("OffsetCommit", version, group_id=group, member_id="", topics=[row])
    row = {"name": "nowhere", "topic_id": UNKNOWN_ID, "partitions": [long | {"committed_metadata": ""}]}
    sides.same("OffsetCommit", version, group_id=group, member_id="", topics=[row])


@pytest.mark.parametrize("version", range(1, 11))
def test_offsets_come_back(sides: Sides, version: int) -> None:
    topic, group = f"remembered-{version}", f"remembering-{version}"
    sides.create(topic, 2)
    sides.agree(lambda side: commit(side, 9, group, topic))
    for wanted in (group, "nobody", ""):
        rows = [{"name": topic, "partition_indexes": [0, 1, 5]}, {"name": "nowhere", "partition_indexes": [0]}]
        ids = [row | {"topic_id": each} for row, each in zip(rows, (IdOf(topic), UNKNOWN_ID), strict=True)]
        many = [{"group_id": wanted, "topics": ids}]
        sides.same("OffsetFetch", version, group_id=wanted, topics=rows, groups=many)
        if version >= 2:
            every = [{"group_id": wanted, "topics": None}]
            sides.same("OffsetFetch", version, group_id=wanted, topics=None, groups=every)
    if version >= 9:
        stranger = [{"group_id": group, "member_id": "stranger", "member_epoch": 3, "topics": None}]
        sides.same("OffsetFetch", version, groups=stranger)


def test_offsets_are_deleted(sides: Sides) -> None:
    sides.create("forgotten", 2)
    sides.agree(lambda side: commit(side, 9, "forgetting", "forgotten"))
    for group in ("forgetting", "nobody", ""):
        rows = [{"name": "forgotten", "partitions": [{"partition_index": 0}, {"partition_index": 9}]}]
        sides.same("OffsetDelete", 0, group_id=group, topics=rows)
    everything = [{"group_id": "forgetting", "topics": None}]
    sides.same("OffsetFetch", 9, groups=everything)


@pytest.mark.parametrize("version", range(7))
def test_groups_that_nobody_knows(sides: Sides, version: int) -> None:
    sides.same("DescribeGroups", version, groups=["nobody-at-all", ""], include_authorized_operations=True)
    sides.same("DeleteGroups", min(version, 2), groups_names=["nobody-at-all", ""])


@pytest.mark.parametrize("version", range(7))
def test_coordinators(sides: Sides, version: int) -> None:
    kinds = (0, 2, 3, -1) if version >= 1 else (0,)
    for kind in kinds:
        for key in ("anyone", ""):
            sides.same("FindCoordinator", version, key=key, key_type=kind, coordinator_keys=[key])


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed(sides: Sides, version: int) -> None:
    group = f"listed-{version}"
    sides.create(f"committed-listed-{version}", 2)
    sides.agree(lambda side: commit(side, 9, group, f"committed-listed-{version}"))

    def listed(side: Side, **filters: Any) -> Any:
        answer = side.ask("ListGroups", version, **filters)
        return answer | {"groups": [each for each in answer["groups"] if each["group_id"] == group]}

    sides.agree(listed)
    for states in (["Empty"], ["stable"], ["Nonsense"]):
        sides.agree(lambda side, states=states: listed(side, states_filter=states))
    for types in (["classic"], ["Classic"], ["consumer"], ["nonsense"]):
        sides.agree(lambda side, types=types: listed(side, types_filter=types))
