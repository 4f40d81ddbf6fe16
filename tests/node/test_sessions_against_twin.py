"""A session against its naive twin: a reader who asks for everything, every time.

Whatever happens to the topics, a session leaves out a partition only if the twin would have told it nothing new.
"""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock.core.node.fetching.fetch_session import CachedPartition
from penstock.core.wire.api.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from penstock.core.wire.api.delete_topics import DeleteTopicsRequest, DeleteTopicState
from penstock.core.wire.api.fetch import ForgottenTopic
from tests.examples import examples
from tests.node.world import World, fetch, found_in, produce, values_of

V = 11
TOPICS = ("a", "b")
KEYS = [(topic, index) for topic in TOPICS for index in range(2)]


class Sessions(RuleBasedStateMachine):
    """One session, one twin, and a world that changes under both."""

    @initialize(keys=st.sets(st.sampled_from(KEYS), min_size=1))
    def begin(self, keys: set[tuple[str, int]]) -> None:
        self.world = World()
        self.admin, self.reader, self.twin = (self.world.client() for _ in range(3))
        for topic in TOPICS:
            self.world.create(topic, 2)
        self.offsets = dict.fromkeys(sorted(keys), 0)
        self.said: dict[tuple[str, int], int] = {}
        self.moved: dict[tuple[str, int], int] = {}
        self.is_waiting = False
        answer = self.reader.ask(fetch(self.offsets, session=(0, 0)), V)
        self.session, self.epoch = answer.session_id, 1
        self.hear(answer, self.ask_twin())

    # What the world does

    @rule(key=st.sampled_from(KEYS), count=st.integers(1, 3))
    def produce(self, key: tuple[str, int], count: int) -> None:
        self.admin.send(produce(key[0], *[b"x"] * count, partition=key[1]), 9)
        self.admin.replies()

    @rule(topic=st.sampled_from(TOPICS))
    def delete_or_create(self, topic: str) -> None:
        if self.world.node.quorum.uncommitted_image.topic(topic) is None:
            self.world.create(topic, 2)
        else:
            self.admin.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], timeout_ms=1000))

    @rule(key=st.sampled_from(KEYS))
    def delete_records(self, key: tuple[str, int]) -> None:
        partition = DeleteRecordsPartition(partition_index=key[1], offset=-1)
        self.admin.ask(
            DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=key[0], partitions=[partition])], timeout_ms=1000)
        )

    # What the reader does

    @precondition(lambda self: not self.is_waiting)
    @rule(key=st.sampled_from(KEYS))
    def add(self, key: tuple[str, int]) -> None:
        self.offsets.setdefault(key, 0)
        self.moved[key] = self.offsets[key]

    @precondition(lambda self: not self.is_waiting)
    @rule(key=st.sampled_from(KEYS))
    def rewind(self, key: tuple[str, int]) -> None:
        if key in self.offsets:
            self.offsets[key] = self.moved[key] = 0

    @precondition(lambda self: len(self.offsets) > 1 and not self.is_waiting)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.offsets)))
        del self.offsets[key]
        self.moved.pop(key, None)
        self.said.pop(key, None)
        self.fetch(forgotten=[ForgottenTopic(topic=key[0], partitions=[key[1]])])

    @precondition(lambda self: not self.is_waiting)
    @rule()
    def fetch(self, forgotten: Any = ()) -> None:
        moved, self.moved = self.moved, {}
        expected = self.ask_twin()
        request = fetch(moved, session=(self.session, self.epoch), forgotten=forgotten)
        self.epoch += 1
        answer = self.reader.ask(request, V)
        assert answer.error_code == 0
        self.hear(answer, expected)

    @precondition(lambda self: not self.is_waiting and not self.moved)
    @rule()
    def wait(self) -> None:
        """A long poll; whatever is news now or later must end it."""
        expected = self.ask_twin()
        self.reader.send(fetch({}, session=(self.session, self.epoch), max_wait_ms=10_000), V)
        self.epoch += 1
        replies = self.reader.replies()
        if replies:
            self.hear(replies[0], expected)
        else:
            assert not self.news(expected, data_only=True), "a fetch waits though there is something to say"
            self.is_waiting = True

    @precondition(lambda self: self.is_waiting)
    @rule()
    def hear_what_woke(self) -> None:
        expected = self.ask_twin()
        replies = self.reader.replies()
        if not replies:
            assert not self.news(expected, data_only=True), "nobody woke the reader"
            self.world.pass_time(10_000)
            replies = self.reader.replies()
        self.is_waiting = False
        assert len(replies) == 1
        # It was woken by the first news; what came after that is for the next fetch.
        found = found_in(replies[0])
        for key, data in found.items():
            self.note(key, data)

    # The comparison

    def ask_twin(self) -> dict[tuple[str, int], Any]:
        return found_in(self.twin.ask(fetch(self.offsets), V))

    def news(self, expected: dict[tuple[str, int], Any], data_only: bool = False) -> set[tuple[str, int]]:
        """What a session must not leave out."""
        found = set()
        for key, data in expected.items():
            moved = data.high_watermark != self.said.get(key) and not data_only
            if data.error_code or values_of(data.records) or moved:
                found.add(key)
        return found

    def hear(self, answer: Any, expected: dict[tuple[str, int], Any]) -> None:
        found = found_in(answer)
        assert self.news(expected) <= set(found), "news were left out"
        for key, data in found.items():
            twin = expected[key]
            assert (data.error_code, data.high_watermark) == (twin.error_code, twin.high_watermark)
            assert values_of(data.records) == values_of(twin.records)
            self.note(key, data)

    def note(self, key: tuple[str, int], data: Any) -> None:
        self.said[key] = data.high_watermark
        if data.error_code:
            self.offsets[key] = self.moved[key] = 0
            return
        got = len(values_of(data.records))
        if got or self.offsets[key] < data.log_start_offset:
            self.offsets[key] = self.moved[key] = max(self.offsets[key] + got, data.log_start_offset)


TestSessions = Sessions.TestCase
TestSessions.settings = cast(settings, examples(40))


def test_a_session_that_misses_news_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a watcher that does not write down what it hears."""
    monkeypatch.setattr(CachedPartition, "news", lambda self, size: None)
    once = settings(max_examples=50, phases=[Phase.generate], database=None, deadline=None)
    with pytest.raises(AssertionError, match=r"news were left out|nobody woke the reader|a fetch waits though"):
        run_state_machine_as_test(Sessions, settings=once)
