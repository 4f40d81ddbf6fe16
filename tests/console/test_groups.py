"""Groups as a person handles them: seen, moved after a look at what would change, forgotten, deleted."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer

from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.client.share_groups import ShareGroups, Standing
from penstock.core.wire.api.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from penstock.services.console.groups import Row
from penstock.services.console.standing import lags_told
from penstock.testing.broker import Broker
from tests.console.world import PARTS, Site
from tests.waiting import wait_until


def commit(broker: Broker, group: str, topic: str, *offsets: int) -> None:
    with Client(broker.bootstrap) as client:
        Groups(client).commit(group, {TopicPartition(topic, number): at for number, at in enumerate(offsets)})


def committed(broker: Broker, group: str) -> dict[TopicPartition, int]:
    with Client(broker.bootstrap) as client:
        return Groups(client).offsets(group)


@pytest.fixture(scope="module")
def read(console_broker: Broker) -> str:
    """A topic of twenty records in two partitions."""
    console_broker.create_topic("readings", 2)
    for number in range(2):
        console_broker.produce("readings", *(str(each) for each in range(10)), partition=number)
    return "readings"


def test_the_list_shows_lag_and_finds(console: Site, console_broker: Broker, read: str) -> None:
    commit(console_broker, "found/odd name&", read, 4, 10)
    wait_until(lambda: "found/odd name& classic Empty 6" in console.get("/groups?q=ODD").text, what="it is listed")
    assert "found/odd" not in console.get("/groups?q=missing", headers=PARTS).text
    assert "found/odd" in console.get("/groups?kind=classic").text
    assert "found/odd" not in console.get("/groups?kind=consumer").text


def test_one_says_where_it_stands_and_why_nobody_reads(console: Site, console_broker: Broker, read: str) -> None:
    name = "stands/odd name&"
    commit(console_broker, name, read, 4, 10)
    seen = console.get(f"/groups/view?name={quote(name, safe='')}")
    assert f"{read} 0 4 10 6" in seen.text
    assert "nobody is in it" in seen.text
    assert "Nobody." in seen.text
    missing = console.get("/groups/view?name=missing")
    assert missing.status == 404
    assert "GROUP_ID_NOT_FOUND" in missing.text


@pytest.mark.slow
def test_lag_is_kept_over_time(console: Site, console_broker: Broker, read: str) -> None:
    commit(console_broker, "plotted", read, 1, 1)
    console.get("/groups/view?name=plotted")

    def is_drawn() -> bool:
        html = console.get("/groups/view?name=plotted").html
        times, lags = json.loads(html.partition('data-plot="')[2].partition('"')[0])
        return len(times) == len(lags) > 0 and lags[-1] == 18

    wait_until(is_drawn, what="a sample with the group in it")
    assert "plotted" in console.get("/topics/readings").text


def test_a_group_is_moved_as_was_shown(console: Site, console_broker: Broker, read: str) -> None:
    commit(console_broker, "moved", read, 4, 10)
    plan = console.get(f"/groups/reset?name=moved&topic={read}&to=by&at=-5")
    assert "0 4 0 4 0" in plan.text
    assert "1 10 5 5 0" in plan.text
    assert plan.hidden["planned"] == "0:0,1:5"
    assert committed(console_broker, "moved")[TopicPartition(read, 0)] == 4, "nothing is changed yet"
    form = {"name": "moved", "topic": read, "planned": "0:0,1:5"}
    assert console.post("/groups/reset", confirm="", **form).status == 400
    assert "stands where it was put" in console.post("/groups/reset", confirm="moved", **form).text
    assert committed(console_broker, "moved") == {TopicPartition(read, 0): 0, TopicPartition(read, 1): 5}


@pytest.mark.parametrize(
    ("to", "planned"),
    [
        ("to=earliest", "0:0,1:0"),
        ("to=latest", "0:10,1:10"),
        ("to=offset&at=7", "0:7,1:7"),
        ("to=offset&at=70", "0:10,1:10"),
        ("to=time&at=1970-01-01", "0:0,1:0"),
        ("to=time&at=2999-01-01", "0:10,1:10"),
    ],
)
def test_where_a_group_can_go(console: Site, console_broker: Broker, read: str, to: str, planned: str) -> None:
    commit(console_broker, "goes", read, 4, 10)
    assert console.get(f"/groups/reset?name=goes&topic={read}&{to}").hidden["planned"] == planned


@pytest.mark.parametrize("to", ["to=nowhere", "to=offset&at=x", "to=time&at=soon", "to=by&at="])
def test_where_it_cannot(console: Site, console_broker: Broker, read: str, to: str) -> None:
    commit(console_broker, "goes", read, 4, 10)
    assert console.get(f"/groups/reset?name=goes&topic={read}&{to}").status == 400


def test_it_is_forgotten_and_deleted(console: Site, console_broker: Broker, read: str) -> None:
    commit(console_broker, "gone", read, 4, 10)
    assert console.post("/groups/forget", name="gone", topic=read).status == 400
    done = console.post("/groups/forget", name="gone", topic=read, confirm="gone")
    assert "knows nothing of 2 partitions" in done.text
    commit(console_broker, "gone", read, 1, 1)
    assert console.post("/groups/delete", name="gone", confirm="gon").status == 400
    assert "group gone was deleted" in console.post("/groups/delete", name="gone", confirm="gone").text
    assert console.get("/groups/view?name=gone").status == 404


def beat(client: Client, group: str, epoch: int, *topics: str) -> None:
    """A member of a share group says that it is there, or that it goes."""
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id="m", member_epoch=epoch, subscribed_topic_names=list(topics) or None
    )
    answer = client.retry(
        lambda: client.ask(request, ShareGroupHeartbeatResponse, node=client.coordinator(group)), timeout=30
    )
    assert answer.error_code == 0, answer.error_message


def test_a_share_group_is_seen_moved_and_forgotten(console: Site, console_broker: Broker, read: str) -> None:
    with Client(console_broker.bootstrap) as client:
        beat(client, "shares", 0, read)
        seen = console.get("/groups/view?name=shares")
        assert "Kind share" in seen.text
        assert "Members 1" in seen.text
        beat(client, "shares", -1)
    plan = console.get(f"/groups/reset?name=shares&topic={read}&to=offset&at=4")
    assert plan.hidden["planned"] == "0:4,1:4"
    moved = console.post("/groups/reset", name="shares", topic=read, planned="0:4,1:10", confirm="shares")
    assert "stands where it was put" in moved.text
    assert f"{read} 0 4 10 6" in moved.text
    assert "shares share Empty 6" in console.get("/groups?kind=share").text
    done = console.post("/groups/forget", name="shares", topic=read, confirm="shares")
    assert "knows nothing of 2 partitions" in done.text
    assert "group shares was deleted" in console.post("/groups/delete", name="shares", confirm="shares").text


def test_a_share_group_says_its_own_lag(monkeypatch: pytest.MonkeyPatch, console_broker: Broker) -> None:
    """Records that were done out of order lie behind where it begins."""
    where = TopicPartition("t", 0)
    monkeypatch.setattr(ShareGroups, "standings", lambda *_: {where: Standing(0, 3)})
    with Client(console_broker.bootstrap) as client:
        assert lags_told(client, "shares", "share") == {where: 3}
        assert lags_told(client, "shares", "classic") == {}
    assert Row(where, 0, 10, "", 3).lag == 3
    assert Row(where, 0, 10, "").lag == 10
    assert Row(where, None, 10, "").lag is None


@pytest.mark.client
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_are_shown_and_keep_it_where_it_is(
    console: Site, console_broker: Broker, read: str, protocol: str
) -> None:
    name = f"with-members-{protocol}"
    settings = {"bootstrap.servers": console_broker.bootstrap, "group.id": name, "client.id": "ann's"}
    consumer = Consumer(settings | {"group.protocol": protocol, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([read])
        wait_until(lambda: consumer.poll(0.1) is not None, what="it reads")
        seen = console.get(f"/groups/view?name={name}")
        assert "State Stable" in seen.text
        assert f"Kind {protocol}" in seen.text
        assert "ann's" in seen.text
        assert f"{read}-0, {read}-1" in seen.text
        assert "It has 1 members" in console.get(f"/groups/reset?name={name}&topic={read}&to=latest").text
        refused = console.post("/groups/reset", name=name, topic=read, planned="0:1", confirm=name)
        assert refused.status == 400
    finally:
        consumer.close()
