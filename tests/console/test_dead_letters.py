"""Dead letters in a browser: by reason, one beside its origin, and back, each once."""

from __future__ import annotations

import threading

import pytest

from penstock.client.blocking import Client
from penstock.client.producing import Producer
from penstock.core.delivery.dead_letter import Origin, dead_letter_headers
from penstock.core.delivery.policy import GiveUp
from penstock.services.console.jobs import Job, Jobs
from penstock.services.console.mistakes import Mistake
from penstock.testing.broker import Broker
from tests.console.world import Site
from tests.waiting import wait_until

LETTERS = 20


@pytest.fixture
def bills(console: Site, console_broker: Broker, penstock_topic: str) -> str:
    """A topic whose every fifth record is among its letters because of its total, the others because of the city."""
    console_broker.create_topic(f"{penstock_topic}.dlq")
    with Client(console_broker.bootstrap) as client, Producer(client) as producer:
        for number in range(LETTERS):
            kind = ("ValueError", "no <b>total</b>") if number % 5 == 0 else ("KeyError", "city")
            value = b"bill %d" % number
            producer.send(penstock_topic, b"k", value)
            headers = dead_letter_headers(
                [("trace", b"t")], Origin(penstock_topic, 0, number, 1), GiveUp(3, *kind), "group=billing"
            )
            producer.send(f"{penstock_topic}.dlq", b"k", value, headers)
    wait_until(lambda: f"{penstock_topic}.dlq" in console.get("/dead-letters").text, what="it is listed")
    return penstock_topic


def test_they_are_counted_by_reason(console: Site, bills: str) -> None:
    assert f"{bills}.dlq" in console.get("/dead-letters").text
    seen = console.get(f"/dead-letters/of/{bills}.dlq")
    assert f"KeyError {bills} 16 0" in seen.text
    assert f"ValueError {bills} 4 0" in seen.text
    assert "no <b>total</b>" in seen.text, "what was said is text"
    chosen = console.get(f"/dead-letters/of/{bills}.dlq?reason=ValueError")
    assert chosen.html.count("/letter?") == 4


def test_one_stands_beside_its_origin(console: Site, bills: str) -> None:
    seen = console.get(f"/dead-letters/of/{bills}.dlq/letter?partition=0&offset=5")
    assert seen.text.count("bill 5") == 2
    assert "the same" in seen.text
    assert "Tried 3 times Reader" in seen.text
    assert "Header trace t" in seen.text
    assert console.get(f"/dead-letters/of/{bills}.dlq/letter?partition=0&offset=99").status == 404


def test_they_come_back_once(console: Site, console_broker: Broker, bills: str) -> None:
    path = f"/dead-letters/of/{bills}.dlq/redrive"
    assert f"{bills} ValueError 4" in console.get(f"{path}?reason=ValueError").text
    assert len(console_broker.records(bills)) == LETTERS, "a look changes nothing"
    assert console.post(path, reason="ValueError", confirm=bills).status == 400
    for expected in (4, 0):
        under_way = console.post(path, reason="ValueError", confirm=f"{bills}.dlq")
        job = str(under_way.answer.url.path)
        wait_until(lambda job=job: "it is done" in console.get(job).text, what="the job is done")  # type: ignore[misc]  # A path.
        assert f"{expected} are back" in console.get(job).text
    values = [record.value for record in console_broker.records(bills)]
    assert values[LETTERS:] == [b"bill 0", b"bill 5", b"bill 10", b"bill 15"]
    assert f"ValueError {bills} 4 4" in console.get(f"/dead-letters/of/{bills}.dlq").text
    assert "There is nothing" in console.get(f"{path}?reason=ValueError").text


def test_letters_go_only_where_something_is(console: Site, bills: str) -> None:
    path = f"/dead-letters/of/{bills}.dlq/redrive"
    assert console.get(f"{path}?into=nowhere").status == 400
    assert console.get(f"{path}?into={bills}.dlq").status == 400
    assert console.post(path, into="nowhere", confirm=f"{bills}.dlq").status == 400


def test_a_job_is_its_users_and_can_be_stopped() -> None:
    jobs, go, told = Jobs(), threading.Event(), threading.Event()

    def work(job: Job) -> None:
        told.set()
        assert go.wait(30)
        job.advance(7)

    job = jobs.start("it", "ann", work)
    assert told.wait(30)
    with pytest.raises(Mistake):
        jobs.find(job.id, "bob")
    assert jobs.find(job.id, "ann") is job
    job.stop()
    go.set()
    wait_until(lambda: job.is_over)
    assert (job.state, job.done) == ("stopped", 7)
    jobs.close()


def test_a_job_that_fails_says_why() -> None:
    jobs = Jobs()

    def work(_: Job) -> None:
        raise Mistake("no")

    job = jobs.start("it", "ann", work)
    wait_until(lambda: job.is_over)
    assert (job.state, job.failure) == ("failed", "no")
    jobs.close()
