"""Records in a browser: found, filtered, looked at, live, taken home and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.producing import Producer
from penstock.core.records.record import Record
from penstock.services.console.decoding import MASKED, Decoder, Mask, Shown
from penstock.services.console.filtering import filter_of
from penstock.services.console.live import RECORDS_MAX, step
from penstock.services.console.mistakes import Mistake
from penstock.services.console.scanning import moment_ms
from penstock.testing.broker import Broker
from tests.console.world import Seen, Site, site

SCRIPT = '<script>alert("x")</script><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def orders(console_broker: Broker) -> str:
    """A thousand of them, in three partitions."""
    console_broker.create_topic("orders", 3)
    with Client(console_broker.bootstrap) as client, Producer(client) as producer:
        for number in range(1000):
            value = json.dumps({"number": number, "total": number % 100})
            key = f"k{number}".encode()
            headers = [("trace", str(number).encode())]
            producer.send("orders", key, value.encode(), headers, partition=number % 3, timestamp=1_000_000 + number)
    return "orders"


def offsets(seen: Seen) -> list[tuple[int, int]]:
    found = re.findall(r"/record\?partition=(\d+)&amp;offset=(\d+)", seen.html)
    return [(int(partition), int(offset)) for partition, offset in found]


def test_the_newest_ones_come_first_asked(console: Site, orders: str) -> None:
    seen = console.get(f"/topics/{orders}/messages")
    assert len(offsets(seen)) == 20
    assert '"number": 999' in seen.text
    assert '"number": 980' in seen.text
    assert '"number": 979' not in seen.text


def test_from_an_offset_a_time_and_the_beginning(console: Site, orders: str) -> None:
    seen = console.get(f"/topics/{orders}/messages?partition=1&from=offset&at=10")
    assert offsets(seen) == [(1, offset) for offset in range(10, 30)]
    seen = console.get(f"/topics/{orders}/messages?from=time&at=1000990&count=50")
    assert len(offsets(seen)) == 10
    seen = console.get(f"/topics/{orders}/messages?from=earliest&partition=0")
    assert offsets(seen)[0] == (0, 0)
    assert offsets(console.get(f"/topics/{orders}/messages?from=offset&at=99999")) == []


def test_going_on_leaves_nothing_out_and_doubles_nothing(console: Site, orders: str) -> None:
    path, found = f"/topics/{orders}/messages?from=earliest&count=100", []
    for _ in range(20):
        seen = console.get(path)
        found += offsets(seen)
        following = re.search(r'rel="next" href="([^"]*)"', seen.html)
        if following is None:
            break
        path = following[1].replace("&amp;", "&")
    assert len(found) == 1000
    assert len(set(found)) == 1000


def test_a_filter_finds_what_is_rare(console: Site, orders: str) -> None:
    wanted = quote('value.total == 7 and headers.trace startswith "4"')
    for begin in ("earliest", "latest"):
        seen = console.get(f"/topics/{orders}/messages?from={begin}&filter={wanted}")
        assert "1\u202f000 looked at" in seen.html
        assert re.findall(r'"number": (\d+)', seen.text) == ["407"]
    assert console.get(f"/topics/{orders}/messages?filter=value(").status == 400


@pytest.mark.parametrize(
    "query", ["partition=3", "partition=x", "from=nowhere", "from=offset&at=x", "from=time&at=soon", "count=0"]
)
def test_what_cannot_be_asked_is_said(console: Site, orders: str, query: str) -> None:
    refused = console.get(f"/topics/{orders}/messages?{query}")
    assert refused.status == 400
    assert "That cannot be done" in refused.text


def test_a_record_with_script_is_text(console: Site, console_broker: Broker) -> None:
    console_broker.create_topic("script")
    with Client(console_broker.bootstrap) as client, Producer(client) as producer:
        for value in (SCRIPT, json.dumps({"a": SCRIPT})):
            producer.send("script", SCRIPT.encode(), value.encode(), [(SCRIPT, SCRIPT.encode())])
    for path in ("messages", "record?partition=0&offset=0", "record?partition=0&offset=1"):
        seen = console.get(f"/topics/script/{path}")
        assert "<script>alert" not in seen.html
        assert "img" not in seen.tags
        assert "alert(" in seen.text, "and it can be read"
    filter_ = quote(f"key == '{SCRIPT}'")
    assert "img" not in console.get(f"/topics/script/messages?filter={filter_}").tags


def test_a_large_one_and_binary_ones(console: Site, console_broker: Broker) -> None:
    console_broker.create_topic("large", 1, **{"max.message.bytes": 20_000_000})
    with Client(console_broker.bootstrap) as client, Producer(client) as producer:
        producer.send("large", None, b"x" * 10_000_000)
        producer.send("large", b"\xff\x00", bytes(range(256)))
        producer.send("large", None, None)
    listed = console.get("/topics/large/messages?from=earliest")
    assert len(offsets(listed)) == 3
    assert len(listed.html) < 100_000
    assert "ff 00" in listed.text
    one = console.get("/topics/large/record?partition=0&offset=0")
    assert len(one.html) < 200_000
    raw = console.get("/topics/large/raw?partition=0&offset=0")
    assert len(raw.answer.content) == 10_000_000
    assert raw.answer.headers["content-disposition"].startswith("attachment")
    assert raw.answer.headers["content-type"] == "application/octet-stream"
    assert console.get("/topics/large/record?partition=0&offset=9").status == 404


def test_what_is_taken_home_is_bounded_and_noted(console: Site, orders: str) -> None:
    lines = console.get(f"/topics/{orders}/export?from=earliest&filter=value.total+%3C+2").html.splitlines()
    assert {json.loads(line)["value"]["total"] for line in lines} == {0, 1}
    assert len(lines) == 20


def test_a_record_is_written_and_written_again(console: Site, console_broker: Broker) -> None:
    console_broker.create_topic("written", 2)
    done = console.post(
        "/topics/written/produce",
        key="k",
        key_format="text",
        value='{"a":  1}',
        value_format="json",
        headers="one: 1",
        partition="1",
    )
    assert "the record was written: written-1, offset 0" in done.text
    assert "Header one 1" in done.text
    again = console.post("/topics/written/again", partition="1", offset="0", to="written")
    assert "the record was written to written" in again.text
    for wrong in (
        {"value": "{", "value_format": "json"},
        {"value": "xyz", "value_format": "hex"},
        {"value": "{}", "value_format": "schema"},
        {"value": "", "headers": "nothing"},
        {"value": "", "partition": "7"},
    ):
        assert console.post("/topics/written/produce", key_format="null", **wrong).status == 400
    assert console.post("/topics/written/again", partition="1", offset="0", to="nowhere").status == 400
    written = [record.value for record in console_broker.records("written")]
    assert written == [b'{"a":1}', b'{"a":1}']


def test_the_clusters_own_records_say_what_they_are(console: Site, console_broker: Broker) -> None:
    from penstock.client.groups import Groups

    with Client(console_broker.bootstrap) as client:
        console_broker.create_topic("read")
        Groups(client).commit("reader", {TopicPartition("read", 0): 0})
    seen = console.get(
        f"/topics/__consumer_offsets/messages?filter={quote('key.group == ' + chr(34) + 'reader' + chr(34))}"
    )
    assert '"group": "reader"' in seen.text


@pytest.fixture
def viewer(console_broker: Broker, orders: str) -> Iterator[Site]:
    masks = (Mask("ord*", ("value", "total")), Mask("ord*", ("headers", "trace")))
    with site(console_broker.bootstrap, is_read_only=True, facts={"masks": masks}) as running:
        yield running


def test_what_is_masked_is_neither_shown_nor_found_nor_taken_home(viewer: Site) -> None:
    for how in ("auto", "text", "hex", "json"):
        seen = viewer.get(f"/topics/orders/record?partition=0&offset=0&as={how}")
        assert MASKED in seen.text
        assert '"total": 0' not in seen.text
    assert '"number": 0' in viewer.get("/topics/orders/record?partition=0&offset=0").text
    assert offsets(viewer.get("/topics/orders/messages?filter=value.total+%3E+1&from=earliest")) == []
    assert viewer.get("/topics/orders/raw?partition=0&offset=0").status == 403
    assert '"total": 0' not in viewer.get("/topics/orders/export?from=earliest").html


def test_a_mask_goes_through_lists_and_takes_what_it_cannot_look_into() -> None:
    decoder = Decoder("t", masks=[Mask("t", ("value", "people", "name")), Mask("t", ("key",))])
    value = b'{"people": [{"name": "ann"}, {"name": "bob", "age": 3}], "name": "shop"}'
    shown = decoder.show(0, Record(0, 0, b"secret", value, ()))
    assert shown.value.data == {"people": [{"name": MASKED}, {"name": MASKED, "age": 3}], "name": "shop"}
    assert (shown.key.text, shown.key.data) == (MASKED, None)
    assert decoder.show(0, Record(0, 0, None, b"plain ann", ())).value.text == MASKED


def test_live_records_are_the_newest_of_each_second(console_broker: Broker) -> None:
    console_broker.create_topic("live")
    decoder, everything = Decoder("live"), filter_of("")
    with Client(console_broker.bootstrap) as client:
        topic, where = client.topic("live"), TopicPartition("live", 0)
        console_broker.produce("live", "before")
        first = step(client, topic, [where], {}, everything, decoder)
        assert (first.records, first.passed_over) == ([], 0)
        console_broker.produce("live", "a", "b")
        second = step(client, topic, [where], first.positions, everything, decoder)
        assert [each.value.text for each in second.records] == ["a", "b"]
        console_broker.produce("live", *(str(number) for number in range(3 * RECORDS_MAX)))
        third = step(client, topic, [where], second.positions, everything, decoder)
        assert [each.value.text for each in third.records] == [str(each) for each in range(200, 300)]
        assert third.passed_over == 2 * RECORDS_MAX
        last = step(client, topic, [where], third.positions, everything, decoder)
        assert (last.records, last.passed_over) == ([], 0)


class Counting(Decoder):
    """How many records were looked at."""

    looked_at = 0

    def show(self, partition: int, record: Record) -> Shown:
        self.looked_at += 1
        return super().show(partition, record)


def test_a_tail_reads_little_however_much_is_written(console_broker: Broker) -> None:
    console_broker.create_topic("busy", 2)
    decoder = Counting("busy")
    with Client(console_broker.bootstrap) as client:
        topic, places = client.topic("busy"), [TopicPartition("busy", 0), TopicPartition("busy", 1)]
        begun = step(client, topic, places, {}, filter_of(""), decoder)
        for number in range(2):
            console_broker.produce("busy", *(str(each) for each in range(5 * RECORDS_MAX)), partition=number)
        found = step(client, topic, places, begun.positions, filter_of(""), decoder)
    assert len(found.records) == RECORDS_MAX
    assert decoder.looked_at <= 2 * RECORDS_MAX
    assert found.passed_over == 9 * RECORDS_MAX, "each record is shown or counted"


def test_times() -> None:
    assert moment_ms("5") == 5
    assert moment_ms("1970-01-01T00:00:01") == 1000
    assert moment_ms("1970-01-01T01:00:01+01:00") == 1000
    with pytest.raises(Mistake):
        moment_ms("soon")
