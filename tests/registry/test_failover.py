"""Several registries, of which those that write are killed: no id is given twice, and no answer is taken back."""

from __future__ import annotations

import http.client
import json
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import pytest

from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import READ_COMMITTED, edges
from penstock.client.reading import Reader
from penstock.core.schemas.table import SchemaTable
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from penstock.testing.broker import Broker
from tests.registry.world import Answer, Rest, Running, record, registry
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

SUBJECTS = 4
CONTENTS = 30


class Promise(NamedTuple):
    """What a registry answered with success."""

    subject: str
    id: int
    version: int
    name: str


@contextmanager
def three(bootstrap: str, topic: str) -> Iterator[list[Running]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(registry(bootstrap, "--group", topic, "--topic", topic, "--compatibility", "none"))
            for _ in range(3)
        ]


def folded(bootstrap: str, topic: str) -> SchemaTable:
    table, where = SchemaTable(), TopicPartition(topic, 0)
    with Client(bootstrap) as client:
        first, end = edges(client, [where])[where]
        for chunk in Reader(client, {where: first}, until={where: end}, isolation=READ_COMMITTED):
            for each in chunk.records:
                table.replay(each.key, each.value)
    return table


def attempt(rest: Rest, subject: str, name: str) -> Answer | None:
    try:
        return rest.register(subject, record(name, "a"))
    except (OSError, http.client.HTTPException):
        return None


def test_writers_that_are_killed(registry_broker: Broker) -> None:
    topic, promises, stop = "killed-schemas", list[Promise](), threading.Event()
    lock = threading.Lock()

    def register(seed: int, registries: list[Running]) -> None:
        chance = random.Random(seed)
        while not stop.is_set():
            subject, name = f"s{chance.randrange(SUBJECTS)}", f"N{chance.randrange(CONTENTS)}"
            answer = attempt(chance.choice(registries).rest, subject, name)
            if answer is not None and answer.status == 200:
                with lock:
                    promises.append(Promise(subject, answer.body["id"], answer.body["version"], name))
            elif answer is not None:
                assert answer.status >= 500, answer

    bootstrap = registry_broker.bootstrap
    with three(bootstrap, topic) as registries, ExitStack() as stack:
        writers = [threading.Thread(target=register, args=(seed, registries)) for seed in range(3)]
        for writer in writers:
            writer.start()
        try:
            for _ in range(2):
                promised = len(promises)
                wait_until(lambda before=promised: len(promises) > before + 5, what="some registrations")
                victim = leader(bootstrap, topic, registries)
                victim.process.kill()
                victim.process.wait()
                place = registries.index(victim)
                options = ("--group", topic, "--topic", topic, "--compatibility", "none")
                registries[place] = stack.enter_context(registry(bootstrap, *options))
            promised = len(promises)
            wait_until(lambda: len(promises) > promised + 5, what="registrations after all that")
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        table = folded(bootstrap, topic)
        check(promises, table, registries)


def test_who_goes_hands_over(registry_broker: Broker) -> None:
    """Without waiting until the coordinator misses it."""
    topic, bootstrap = "handed-over", registry_broker.bootstrap
    with three(bootstrap, topic) as registries:
        first = leader(bootstrap, topic, registries)
        made = first.rest.register("s", record("First", "a"))
        assert made.status == 200
        first.process.terminate()
        assert first.process.wait() == 0
        rest = [each for each in registries if each is not first]
        begin = time.monotonic()
        assert rest[0].rest.register("s", record("Second", "a")).body["id"] == made.body["id"] + 1
        assert time.monotonic() - begin < 8, "a session that ended would have taken 10 s"
        # The other one reads what was written when it comes to it.
        wait_until(lambda: rest[1].rest.get("/subjects/s/versions").body == [1, 2], what="the other one has it too")


def test_a_writer_that_was_paused_is_fenced(registry_broker: Broker) -> None:
    """It still takes itself for the leader when it comes back, and what it writes then must not count."""
    topic, bootstrap = "paused-schemas", registry_broker.bootstrap
    with three(bootstrap, topic) as registries:
        first = leader(bootstrap, topic, registries)
        assert first.rest.register("s", record("Before", "a")).status == 200
        first.process.send_signal(signal.SIGSTOP)
        others = [each for each in registries if each is not first]
        try:
            wait_until(lambda: leader(bootstrap, topic, others) in others, what="another leader")
            made = others[0].rest.register("s", record("Meanwhile", "a"))
            assert made.status == 200
        finally:
            first.process.send_signal(signal.SIGCONT)
        late = attempt(first.rest, "s", "Late")
        assert late is not None
        table = folded(bootstrap, topic)
        assert table.passed_over == 0
        versions = {json.loads(each.text)["name"]: (each.id, each.version) for each in table.versions("s")}
        assert versions["Meanwhile"] == (made.body["id"], made.body["version"])
        assert len(set(versions.values())) == len(versions)
        assert ("Late" in versions) == (late.status == 200)
        if late.status == 200:
            assert versions["Late"] == (late.body["id"], late.body["version"])


def leader(bootstrap: str, group: str, registries: list[Running]) -> Running:
    """As the coordinator tells all members."""
    found: list[Running] = []

    def is_told() -> bool:
        with Client(bootstrap) as client:
            request = DescribeGroupsRequest(groups=[group])
            answer = client.ask(request, DescribeGroupsResponse, node=client.coordinator(group))
        assignments = [each.member_assignment for each in answer.groups[0].members if each.member_assignment]
        ports = {json.loads(each)["master_identity"]["port"] for each in assignments}
        found[:] = [each for each in registries if {each.rest.port} == ports]
        return bool(found)

    wait_until(is_told, what="a leader")
    return found[0]


def check(promises: list[Promise], table: SchemaTable, registries: list[Running]) -> None:
    assert table.passed_over == 0, "nobody wrote another text under an id"
    by_name: dict[str, set[int]] = {}
    for promise in promises:
        stored = table.get(promise.subject, promise.version)
        assert stored is not None, promise
        assert (stored.id, json.loads(stored.text)["name"]) == (promise.id, promise.name)
        by_name.setdefault(promise.name, set()).add(promise.id)
    assert all(len(ids) == 1 for ids in by_name.values()), "an id is the content's"
    given = {id for ids in by_name.values() for id in ids}
    assert len(given) == len(by_name)
    for running in registries:
        begin = time.monotonic()
        assert all(running.rest.get(f"/schemas/ids/{id}").status == 200 for id in given)
        assert time.monotonic() - begin < 30
