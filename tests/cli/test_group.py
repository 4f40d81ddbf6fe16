"""`penstock group`, and reading as a member of one, on a running node."""

import json
from typing import Any

import pytest
from confluent_kafka import Consumer

from penstock.cli import group_reading
from penstock.client.blocking import Client
from penstock.core.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from penstock.core.wire.api.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from tests.cli.running import KEPT, Shell
from tests.waiting import wait_until

pytestmark = pytest.mark.client


def offsets(penstock: Shell, group: str) -> dict[int, Any]:
    described = json.loads(penstock("group", "describe", group, "--output", "json").out)
    return {row["partition"]: row["committed"] for row in described["offsets"]}


@pytest.fixture
def ten(penstock: Shell, request: pytest.FixtureRequest) -> str:
    """A topic of its own with ten records, a second apart."""
    topic: str = request.node.originalname.removeprefix("test_")
    records = "\n".join(json.dumps({"value": str(n), "timestamp": 1_700_000_000_000 + n * 1000}) for n in range(10))
    assert penstock("topic", "create", topic, "--if-not-exists", *KEPT).code == 0
    assert penstock("produce", topic, "--input", "json", stdin=records.encode()).code == 0
    return topic


def test_a_group_goes_on_where_it_stopped(penstock: Shell, ten: str) -> None:
    first = penstock("consume", ten, "--group", "stops", "--count", "4")
    assert first.out.split() == ["0", "1", "2", "3"]
    assert offsets(penstock, "stops") == {0: 4}
    assert penstock("consume", ten, "--group", "stops").out.split() == ["4", "5", "6", "7", "8", "9"]
    assert penstock("consume", ten, "--group", "stops").out == ""
    assert offsets(penstock, "stops") == {0: 10}


def test_older_news_do_not_cost_a_commit(penstock: Shell, ten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinator came after the last news were told and before the next ones: what was read is committed."""
    monkeypatch.setattr(group_reading, "NEWS_MS", 600_000)
    made = group_reading._Member._make_consumer

    def make_with_news(member: group_reading._Member, wish: group_reading.Membership) -> Consumer:
        member._take_news(json.dumps({"brokers": {"1": {"state": "UP"}}, "cgrp": {"state": "query-coord"}}))
        return made(member, wish)

    monkeypatch.setattr(group_reading._Member, "_make_consumer", make_with_news)
    read = penstock("consume", ten, "--group", "early", "--count", "4")
    assert (read.code, read.err) == (0, "")
    assert offsets(penstock, "early") == {0: 4}


def test_a_group_is_listed_and_described_with_its_lag(penstock: Shell, ten: str) -> None:
    penstock("consume", ten, "--group", "lagging", "--count", "3")
    assert "lagging" in penstock("group", "list").out
    assert {"group": "lagging", "state": "Empty", "type": "classic", "protocol": "consumer", "lag": 7} in json.loads(
        penstock("group", "list", "-o", "json").out
    )
    described = json.loads(penstock("group", "describe", "lagging", "-o", "json").out)
    assert (described["state"], described["members"], described["lag"]) == ("Empty", 0, 7)
    assert described["offsets"][0]["end_offset"] == 10


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--to", "earliest", 0),
        ("--to", "latest", 10),
        ("--to", "current", 5),
        ("--to", "3", 3),
        ("--to", "99", 10),
        ("--to", "@1700000007500", 8),
        ("--to", "2023-11-14T22:13:22+00:00", 2),
        ("--to", "1s", 10),
        ("--shift-by", "2", 7),
        ("--shift-by", "-3", 2),
        ("--shift-by", "-30", 0),
    ],
)
def test_a_group_is_moved_only_when_told_so(penstock: Shell, option: str, value: str, expected: int) -> None:
    topic, group = "moving", f"mover{option}{value}"
    records = "\n".join(json.dumps({"value": str(n), "timestamp": 1_700_000_000_000 + n * 1000}) for n in range(10))
    if penstock("topic", "create", topic, *KEPT).code == 0:
        penstock("produce", topic, "--input", "json", stdin=records.encode())
    penstock("group", "reset", group, "--topic", topic, "--to", "5", "--execute")
    dry = penstock("group", "reset", group, "--topic", f"{topic}:0", option, value, "-o", "json")
    assert json.loads(dry.out) == [{"topic": topic, "partition": 0, "committed": 5, "new_offset": expected}]
    assert "--execute" in dry.err
    assert offsets(penstock, group) == {0: 5}
    assert penstock("group", "reset", group, "--all-topics", option, value, "--execute").code == 0
    assert offsets(penstock, group) == {0: expected}


def test_reset_wants_to_know_what_and_where(penstock: Shell, ten: str) -> None:
    assert penstock("group", "reset", "g", "--topic", ten).code == 2
    assert penstock("group", "reset", "g", "--to", "earliest").code == 2
    assert penstock("group", "reset", "g", "--to", "earliest", "--shift-by", "1", "--topic", ten).code == 2
    assert penstock("group", "reset", "g", "--to", "whenever", "--topic", ten).code == 2
    assert penstock("group", "reset", "g", "--to", "earliest", "--topic", f"{ten}:7").code == 2
    nothing = penstock("group", "reset", "never-seen", "--to", "earliest", "--all-topics")
    assert nothing.code == 1
    assert "--topic" in nothing.err


def test_a_group_with_members_is_left_alone(penstock: Shell, ten: str, cluster: Any) -> None:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "busy", "auto.offset.reset": "earliest"})
    consumer.subscribe([ten])
    try:
        assert consumer.poll(10) is not None
        described = json.loads(penstock("group", "describe", "busy", "-o", "json").out)
        assert (described["state"], described["members"]) == ("Stable", 1)
        assert described["offsets"][0]["host"] == "/127.0.0.1"
        moved = penstock("group", "reset", "busy", "--topic", ten, "--to", "earliest", "--execute")
        assert moved.code == 1
        assert "stop them first" in moved.err
        for options in ((), ("--execute",)):
            deleted = penstock("group", "delete", "busy", *options)
            assert deleted.code == 1
            assert "NON_EMPTY_GROUP" in deleted.err
    finally:
        consumer.close()


def test_a_group_is_deleted_with_its_offsets(penstock: Shell, ten: str) -> None:
    penstock("group", "reset", "brief", "--topic", ten, "--to", "5", "--execute")
    shown = penstock("group", "delete", "brief")
    assert shown.code == 0
    assert "add --execute" in shown.err
    assert shown.out.splitlines()[-1].split() == ["brief", ten, "0", "5"]
    assert penstock("group", "describe", "brief").code == 0
    assert json.loads(penstock("group", "delete", "brief", "--yes", "-o", "json").out) == {
        "deleted": ["brief"],
        "offsets": [{"group": "brief", "topic": ten, "partition": 0, "committed": 5}],
    }
    missing = penstock("group", "describe", "brief")
    assert missing.code == 1
    assert "GROUP_ID_NOT_FOUND" in missing.err
    assert "penstock group list" in missing.err


def test_only_the_offsets_of_a_topic_are_deleted(penstock: Shell, ten: str) -> None:
    penstock("produce", "other", stdin=b"x\n")
    penstock("group", "reset", "both", "--topic", ten, "--topic", "other", "--to", "latest", "--execute")
    assert penstock("group", "delete", "both", "--topic", f"{ten}:0").code == 0
    assert "add --execute" in penstock("group", "delete", "both", "-t", ten).err
    assert penstock("group", "delete", "both", "-t", ten, "--execute").code == 0
    left = json.loads(penstock("group", "describe", "both", "-o", "json").out)["offsets"]
    assert [each["topic"] for each in left] == ["other"]
    assert penstock("group", "delete", "both", "-t", ten).code == 1
    assert penstock("group", "delete", "nobody").code == 1


def test_an_offset_of_a_deleted_topic_has_no_lag(penstock: Shell, ten: str) -> None:
    penstock("group", "reset", "orphan", "--topic", ten, "--to", "5", "--execute")
    penstock("topic", "delete", ten, "--execute")
    described = penstock("group", "describe", "orphan")
    assert described.code == 0


def test_a_group_that_begins_at_the_end_has_begun_there(penstock: Shell, ten: str) -> None:
    assert penstock("consume", ten, "--group", "late", "--from", "latest").out == ""
    penstock("produce", ten, stdin=b"meanwhile\n")
    assert penstock("consume", ten, "--group", "late", "--from", "latest").out == "meanwhile\n"


def test_a_group_cannot_be_told_an_offset(penstock: Shell, ten: str) -> None:
    told = penstock("consume", ten, "--group", "g", "--from", "3")
    assert told.code == 2
    assert "penstock group reset g" in told.err
    assert penstock("consume", ten, "--group", "g", "--merge").code == 2


def test_a_share_group_is_described_moved_and_deleted(penstock: Shell, ten: str, cluster: Any) -> None:
    def beat(epoch: int) -> ShareGroupHeartbeatResponse:
        with Client(cluster.bootstrap) as client:
            names = [ten] if epoch == 0 else None
            request = ShareGroupHeartbeatRequest(
                group_id="shares", member_id="m", member_epoch=epoch, subscribed_topic_names=names
            )
            return client.retry(
                lambda: client.ask(request, ShareGroupHeartbeatResponse, node=client.coordinator("shares"))
            )

    def is_given() -> bool:
        """Kafka sets state up first, and gives a heartbeat later; here it is one."""
        beat(0)
        said = penstock("group", "describe", "shares", "-o", "json")
        described.update(json.loads(said.out) if said.code == 0 else {})
        return bool(described.get("offsets"))

    described: dict[str, Any] = {}
    wait_until(is_given, what="a partition of its own")
    assert (described["type"], described["state"], described["assignor"]) == ("share", "Stable", "simple")
    assert described["offsets"][0] | {"committed": None, "end_offset": 10} == described["offsets"][0]
    busy = penstock("group", "reset", "shares", "--topic", ten, "--to", "earliest", "--execute")
    assert busy.code != 0
    assert beat(-1).error_code == 0
    assert penstock("group", "reset", "shares", "--topic", ten, "--to", "4", "--execute").code == 0
    assert offsets(penstock, "shares") == {0: 4}
    listed = json.loads(penstock("group", "list", "-o", "json").out)
    assert {"group": "shares", "state": "Empty", "type": "share", "protocol": "share", "lag": 6} in listed
    assert "whole topics" in penstock("group", "delete", "shares", "--topic", f"{ten}:0", "--execute").err
    assert penstock("group", "delete", "shares", "--topic", ten, "--execute").code == 0
    assert offsets(penstock, "shares") == {}
    assert penstock("group", "delete", "shares", "--execute").code == 0
    assert "shares" not in penstock("group", "list").out


def test_who_holds_a_group_up_is_named(penstock: Shell, ten: str, cluster: Any) -> None:
    def beat(member: str, epoch: int = 0) -> bool:
        is_joining = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id="held",
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if is_joining else -1,
            subscribed_topic_names=[ten] if is_joining else None,
            topic_partitions=[] if is_joining else None,
        )
        with Client(cluster.bootstrap) as client:
            answer = client.retry(
                lambda: client.ask(request, ConsumerGroupHeartbeatResponse, node=client.coordinator("held"))
            )
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        return not answer.error_code

    def is_held_up() -> bool:
        """The assignment with both of them is made by a heartbeat, some time after the last one was."""
        beat("late")
        described.update(json.loads(penstock("group", "describe", "held", "-o", "json").out))
        return bool(described["held_up_by"])

    described: dict[str, Any] = {}
    wait_until(lambda: beat("first"), what="the first member")
    wait_until(is_held_up, what="a member that others wait for")
    assert [each.split()[0] for each in described["held_up_by"]] == ["first"]
    assert described["rebalancing"].startswith("1 of 2 members")
    assert "first (" in penstock("group", "describe", "held").out
    for member in ("first", "late"):
        beat(member, -1)
