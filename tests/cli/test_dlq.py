"""Dead letters from the command line: counted, shown, brought back once, and let go; on Penstock and on Kafka."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.dead_letters import Choice, Found, Redrive, letters, spans, where_of
from penstock.client.errors import ClientError
from penstock.client.offsets import READ_COMMITTED, edges
from penstock.client.producing import Producer
from penstock.client.reading import Reader
from penstock.core.delivery.dead_letter import REDRIVEN_HEADER, Origin, dead_letter_headers
from penstock.core.delivery.policy import GiveUp
from penstock.core.records.record import Record
from tests.cli.running import Shell, Up
from tests.kafka_peer import KafkaPeer

pytestmark = pytest.mark.client

LETTERS = 20


@pytest.fixture
def client(cluster: Up | KafkaPeer) -> Iterator[Client]:
    with Client(cluster.bootstrap) as one:
        yield one


@pytest.fixture
def orders(client: Client, request: pytest.FixtureRequest) -> str:
    """A topic whose every fifth record is among its dead letters because a number was missing, every other one of the
    rest because of its city."""
    name = "".join(each for each in request.node.name.removeprefix("test_") if each.isalnum())
    admin = Admin(client)
    admin.create_topic(name, 2, configs={"retention.ms": "-1"})
    admin.create_topic(f"{name}.dlq", 2, configs={"retention.ms": "-1"})
    with Producer(client) as producer:
        for number in range(LETTERS):
            kind = ("ValueError", "no total") if number % 5 == 0 else ("KeyError", "city")
            producer.send(name, b"key", b"order %d" % number, partition=number % 2)
            producer.send(
                f"{name}.dlq",
                b"key",
                b"order %d" % number,
                dead_letter_headers(
                    [("trace", b"t")], Origin(name, number % 2, number // 2, 1), GiveUp(3, *kind), "group=billing"
                ),
                partition=number % 2,
            )
    return name


def back(client: Client, topic: str) -> list[tuple[int, Record]]:
    """What a redrive has brought, as readers of committed records see it, once the last transaction has its markers."""
    limits = edges(client, spans(client, topic))
    reader = Reader(
        client,
        {where: first for where, (first, _) in limits.items()},
        until={where: end for where, (_, end) in limits.items()},
        isolation=READ_COMMITTED,
    )
    found = [(chunk.where.partition, record) for chunk in reader for record in chunk.records]
    return [(number, record) for number, record in found if REDRIVEN_HEADER in dict(record.headers)]


def listed(penstock: Shell, topic: str, *options: str) -> dict[str, tuple[int, int]]:
    rows = json.loads(penstock("dlq", "list", topic, "-o", "json", *options).out)
    return {row["reason"]: (row["letters"], row["redriven"]) for row in rows}


def test_letters_are_counted_and_shown(penstock: Shell, orders: str) -> None:
    assert listed(penstock, f"{orders}.dlq") == {"ValueError": (4, 0), "KeyError": (16, 0)}
    assert listed(penstock, f"{orders}.dlq", "--reason", "KeyError", "--origin", orders) == {"KeyError": (16, 0)}
    assert listed(penstock, f"{orders}.dlq", "--to", "1h") == {}
    found: dict[str, Any] = json.loads(penstock("dlq", "show", f"{orders}.dlq", "1:2", "-o", "json").out)
    assert found["origin"] == f"{orders}-1@2"
    assert (found["reason"], found["message"], found["attempts"]) == ("ValueError", "no total", 3)
    assert (found["reader"], found["at_its_origin"], found["redriven"]) == ("group=billing", "the same record", "no")
    assert (found["key"], found["value"], found["headers"]) == ("key", "order 5", [["trace", "t"]])
    assert "at its origin" in penstock("dlq", "show", f"{orders}.dlq", "1:2").out
    missing = penstock("dlq", "show", f"{orders}.dlq", "1:99")
    assert (missing.code, missing.err.splitlines()[1]) == (1, "  its offsets go from 0 to 9")


def test_letters_go_back_once(penstock: Shell, client: Client, orders: str) -> None:
    letters_of = f"{orders}.dlq"
    shown = penstock("dlq", "redrive", letters_of, "--reason", "ValueError")
    assert "nothing is brought back yet: add --execute to do it" in shown.err
    assert back(client, orders) == []
    assert penstock("dlq", "redrive", letters_of, "--reason", "ValueError", "--execute").code == 0
    assert sorted(record.value or b"" for _, record in back(client, orders)) == [
        b"order 0",
        b"order 10",
        b"order 15",
        b"order 5",
    ]
    assert listed(penstock, letters_of) == {"ValueError": (4, 4), "KeyError": (16, 0)}
    assert penstock("dlq", "redrive", letters_of, "--execute", "--rate", "1000").code == 0
    again = penstock("dlq", "redrive", letters_of, "--execute")
    assert "there is nothing to bring back" in again.err
    found = back(client, orders)
    assert Counter(record.value for _, record in found) == {b"order %d" % each: 1 for each in range(LETTERS)}
    for number, record in found:
        assert record.value is not None
        assert number == int(record.value.split()[1]) % 2
        assert [name for name, _ in record.headers] == ["trace", REDRIVEN_HEADER]


def test_letters_go_for_good(penstock: Shell, orders: str) -> None:
    letters_of = f"{orders}.dlq"
    assert penstock("dlq", "redrive", letters_of, "--at", "0:0", "--at", "0:1", "--at", "0:3", "--execute").code == 0
    assert "nothing is deleted yet" in penstock("dlq", "purge", letters_of).err
    assert penstock("dlq", "purge", letters_of, "--redriven", "--execute").code == 0
    assert sum(count for count, _ in listed(penstock, letters_of).values()) == LETTERS - 2
    assert penstock("dlq", "purge", letters_of, "--yes").code == 0
    assert "there are no such dead letters" in penstock("dlq", "list", letters_of).err


def test_what_cannot_be_is_said(penstock: Shell, orders: str) -> None:
    for arguments, said in (
        (("show", f"{orders}.dlq", "15"), "'15' is not PARTITION:OFFSET, such as 0:15"),
        (("redrive", f"{orders}.dlq", "--from", "soon"), "'soon' is no time"),
        (("redrive", f"{orders}.dlq", "--into", f"{orders}.dlq"), "letters do not go back into the topic"),
    ):
        told = penstock("dlq", *arguments)
        assert told.code == 2
        assert said in told.err
    lost = penstock("dlq", "redrive", f"{orders}.dlq", "--into", "nowhere")
    assert (lost.code, lost.err.splitlines()[0]) == (1, "penstock: there is no topic nowhere")
    plain = penstock("dlq", "redrive", orders)
    assert f"{LETTERS} letters do not say where they came from" in plain.err


def chosen(client: Client, topic: str, redrive: Redrive) -> Iterator[Found]:
    known = redrive.begin()
    for found in letters(client, Choice(), spans(client, topic)):
        if not known.has(where_of(client, found.where), found.record.offset):
            yield found


def test_a_redrive_that_dies_anywhere_goes_on(client: Client, orders: str) -> None:
    """Each dies while it sends, and leaves its transaction open: the next one ends that first."""
    for sent in range(1, LETTERS, 3):
        dying = Redrive(client, f"{orders}.dlq", rate=4)
        found = list(chosen(client, f"{orders}.dlq", dying))
        dying.bring_back(islice(found, 0, 2 if sent % 2 else 0), lambda _: None)
        dying._producer.begin()
        for each in found[2:5]:
            dying._send(each)
        dying._producer.flush()
    last = Redrive(client, f"{orders}.dlq")
    last.bring_back(chosen(client, f"{orders}.dlq", last), lambda _: None)
    assert Counter(record.value for _, record in back(client, orders)) == {
        b"order %d" % each: 1 for each in range(LETTERS)
    }


def test_who_comes_later_takes_over(client: Client, orders: str) -> None:
    """The earlier one has sent, and has not yet committed: nothing of it counts."""
    earlier, later = (Redrive(client, f"{orders}.dlq") for _ in range(2))
    found = list(chosen(client, f"{orders}.dlq", earlier))

    def in_between() -> Iterator[Found]:
        yield from found[:3]
        later.bring_back(chosen(client, f"{orders}.dlq", later), lambda _: None)
        yield from found[3:]

    with pytest.raises(ClientError):
        earlier.bring_back(in_between(), lambda _: None)
    assert Counter(record.value for _, record in back(client, orders)) == {
        b"order %d" % each: 1 for each in range(LETTERS)
    }
