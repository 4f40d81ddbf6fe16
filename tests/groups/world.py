"""The smallest world a shard can live in: a clock, timers, a log that commits at once, and a few topics."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable
from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.asked import Asked
from penstock.core.groups.elsewhere import Codes, StateDue
from penstock.core.groups.member_memory import MemberMemory
from penstock.core.groups.settings import GroupSettings
from penstock.core.groups.shard import GroupShard
from penstock.core.rsm.machine import Decision, TopicChanges
from penstock.core.rsm.result import Due, KeyValue, Replies, Reply, Result
from penstock.core.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse
from penstock.core.wire.schema import Message

TOPIC_COUNTS = {"orders": 4, "payments": 2}


class Token(Reply):
    """A reply that remembers what it is for."""

    __slots__ = ("name", "version")

    def __init__(self, name: str, version: int) -> None:
        self.name = name
        self.version = version

    def __repr__(self) -> str:
        return self.name


class FakeTimers:
    """Deadlines by key, fired in order; counts how often a timer was set."""

    def __init__(self) -> None:
        self.deadlines: dict[Hashable, int] = {}
        self.sets = 0

    def set(self, key: Hashable, deadline_ms: int) -> None:
        self.deadlines[key] = deadline_ms
        self.sets += 1

    def cancel(self, key: Hashable) -> None:
        self.deadlines.pop(key, None)

    def take_due(self, now_ms: int) -> tuple[int, Hashable] | None:
        due = heapq.nsmallest(1, ((at, str(key), key) for key, at in self.deadlines.items() if at <= now_ms))
        if not due:
            return None
        at, _, key = due[0]
        del self.deadlines[key]
        return at, key


class FakeTopics:
    """Topics whose id is their name, padded."""

    def __init__(self) -> None:
        self.counts = dict(TOPIC_COUNTS)

    def name_of(self, topic_id: bytes) -> str | None:
        return next((name for name in self.counts if topic_id_of(name) == topic_id), None)

    def id_of(self, name: str) -> bytes | None:
        return topic_id_of(name) if name in self.counts else None

    def partition_count(self, name: str) -> int | None:
        return self.counts.get(name)

    def names(self) -> list[str]:
        return list(self.counts)


def topic_id_of(name: str) -> bytes:
    return name.encode().ljust(16, b"\x01")


class CountingEntropy:
    """Chance that counts, so that ids are told apart and stay the same from run to run."""

    def __init__(self) -> None:
        self.count = 0

    def bytes(self, count: int) -> bytes:
        self.count += 1
        return self.count.to_bytes(count, "big")


class World:
    """Runs a shard: appends and replays its records at once, and collects its replies."""

    def __init__(self, settings: GroupSettings | None = None, memory: MemberMemory | None = None) -> None:
        self.settings = settings or GroupSettings()
        self.now_ms = 1_000_000
        self.timers = FakeTimers()
        self.topics = FakeTopics()
        self.entropy = CountingEntropy()
        self.memory = memory or MemberMemory()
        self.log: list[KeyValue] = []
        self.answers: dict[Reply, Message] = {}
        self.asked: list[Token] = []
        self.gone: set[Reply] = set()
        self.due: list[StateDue] = []
        """What share coordinators have not answered yet."""
        self.shard = self._new_shard()
        self.shard.loaded(self.now_ms, self.shard.groups)

    def ask(self, request: Any, version: int, name: str = "?", client_id: str = "", client_host: str = "") -> Token:
        """Send one request; the answer is in `answers` once it came."""
        token = Token(name, version)
        self.asked.append(token)
        # What a peer sends has gone over the wire, so fields that its version lacks have their defaults.
        heard = type(request).decode(request.encode(version), version)
        group_id = getattr(heard, "group_id", None)
        self.settle(self.shard.answer(self.now_ms, Asked(heard, version, token, group_id, client_id, client_host)))
        return token

    def list_groups(self, request: ListGroupsRequest, version: int, name: str = "?") -> Token:
        """Ask for groups in two parts, as who has many of them does."""
        token = Token(name, version)
        self.asked.append(token)
        group_ids = list(self.shard.groups)
        parts = (group_ids[:1], group_ids[1:])
        groups = [group for part in parts for group in self.shard.list_groups(request, part)]
        self.settle(Result(replies=[(token, ListGroupsResponse(groups=groups))]))
        return token

    def sweep(self, decisions: Iterable[Decision]) -> list[int]:
        """Carry out what the shard decides of its own accord; gives the sizes of the batches."""
        sizes = []
        for decide in decisions:
            while (result := decide(self.now_ms)).records:
                sizes.append(len(result.records))
                self.settle(result)
        return sizes

    def delete_topic(self, name: str, topic_id: bytes) -> list[int]:
        return self.sweep(self.shard.topics_changed(TopicChanges({name: topic_id}, frozenset())))

    def settle_records(self, *records: KeyValue) -> None:
        self.settle(Result(list(records)))

    def settle(self, result: Result) -> None:
        for key, value in result.records:
            self.log.append((key, value))
            self.shard.replay(key, value, self.now_ms)
        self._deliver(result.replies)

    def wait(self, duration_ms: int) -> None:
        """Let time pass; timers fire at their own moment."""
        end_ms = self.now_ms + duration_ms
        while (due := self.timers.take_due(end_ms)) is not None:
            self.now_ms = max(self.now_ms, due[0])
            self.settle(self.shard.on_timer(self.now_ms, due[1]))
        self.now_ms = end_ms

    def drop(self, token: Token) -> None:
        self.gone.add(token)
        self.shard.dropped(token)

    def answered(self, due: StateDue, codes: Codes) -> None:
        """Share coordinators have answered: each step of what follows is a turn of its own."""
        for step in due.steps:
            self.settle(self.shard.carry_on(self.now_ms, lambda turn, step=step: step(turn, codes)))  # type: ignore[misc]

    def restart(self) -> None:
        """The coordinator moves: everybody who waits is told, and a fresh shard folds the log."""
        self._deliver(self.shard.lose(ErrorCode.NOT_COORDINATOR))
        self.due.clear()
        assert not self.timers.deadlines, "a shard that lost its partition has no timers left"
        self.shard = self.refold()
        self.shard.loaded(self.now_ms, self.shard.groups)

    def refold(self) -> GroupShard:
        shard = self._new_shard()
        for key, value in self.log:
            shard.replay(key, value, self.now_ms)
        return shard

    def unanswered(self) -> list[Token]:
        return [token for token in self.asked if token not in self.answers and token not in self.gone]

    def _new_shard(self) -> GroupShard:
        return GroupShard(self.settings, self.timers, self.topics, self.entropy, self.memory)

    def _deliver(self, replies: Replies) -> None:
        for token, message in replies:
            if isinstance(message, StateDue):
                self.due.append(message)
                continue
            assert isinstance(token, Token)
            assert not isinstance(message, Due)
            assert token not in self.answers, f"{token} was answered twice"
            assert token not in self.gone, f"{token} was answered although its connection is gone"
            if type(message).__name__ != "OffsetFetchResponse":
                message.encode(token.version)
            self.answers[token] = message
