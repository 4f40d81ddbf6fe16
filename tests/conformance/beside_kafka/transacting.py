"""Situations of a transactional id, and the requests that may come in each: the words of `transaction_errors.txt`.

A request is the name of its API and words that make it unusual: `EndTxn commit epoch-1`. What is answered is said in a
line as well: its error codes, and where a producer is given an epoch, how that differs from the one it had.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.records.build import build_batch
from tests.conformance.beside_kafka.side import IdOf, Side
from tests.waiting import wait_until

TOPIC: Final = "transacting"
PARTITIONS: Final = 2
GROUP: Final = "transacting"
OFFSETS: Final = "__consumer_offsets"
NOBODYS_ID: Final = 900_000
LATER_COORDINATOR: Final = 1_000
_NUMBERS = count(1)


class Actor:
    """A producer under a transactional id of its own, as it sees itself."""

    def __init__(self, side: Side, name: str | None = None) -> None:
        self.side = side
        self.name = name or f"actor-{next(_NUMBERS)}"
        self.id, self.epoch = NOBODYS_ID, 0

    def identity(self, words: list[str]) -> dict[str, Any]:
        name = "" if "unnamed" in words else self.name
        return {
            "transactional_id": name,
            "producer_id": self.id + ("id+1" in words),
            "producer_epoch": self._epoch(words),
        }

    def _epoch(self, words: list[str]) -> int:
        return self.epoch + sum(int(word[5:]) for word in words if word.startswith("epoch") and word[5:])

    # Situations

    def begin(self, timeout_ms: int = 60_000) -> None:
        """InitProducerId, until nothing of before is under way."""
        made: Any = None

        def is_given() -> bool:
            nonlocal made
            values = {"transactional_id": self.name, "transaction_timeout_ms": timeout_ms}
            made = self.side.ask_raw("InitProducerId", 5, **values, producer_id=-1, producer_epoch=-1).message
            return not made.error_code

        wait_until(is_given, what=f"{self.side} takes {self.name}")
        self.id, self.epoch = made.producer_id, made.producer_epoch

    def open(self, version: int = 3) -> None:
        said = self.add_partitions(version, [])
        assert said == "NONE", said

    def end(self, word: str, version: int) -> None:
        answer = self.side.ask_raw("EndTxn", version, **self.identity([]), committed=word == "commit").message
        assert answer.error_code == 0, (self.side, answer)
        if version >= 5:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch

    def settle(self, *states: str) -> None:
        def is_there() -> bool:
            (found,) = self.side.ask_raw(
                "DescribeTransactions", 0, transactional_ids=[self.name]
            ).message.transaction_states
            return found.transaction_state in states

        wait_until(is_there, what=f"{self.name} is {states} at {self.side}")

    def hold_up(self) -> None:
        """A marker of a coordinator of later lets none of the present one in: transactions stay half ended."""
        said = self.markers(1, [f"coordinator={LATER_COORDINATOR}", "abort"])
        assert said == "NONE", said

    # Requests: each gives what is said

    def init(self, version: int, words: list[str]) -> str:
        given = dict(word.split("=") for word in words if "=" in word)
        values = self.identity(words) if "returning" in words else {"producer_id": -1, "producer_epoch": -1}
        values["transactional_id"] = "" if "unnamed" in words else self.name
        values["transaction_timeout_ms"] = int(given.get("timeout", 60_000))
        flags = {"enable2_pc": "2pc" in words, "keep_prepared_txn": "keep" in words}
        return self._given(self.side.ask_raw("InitProducerId", version, **values, **flags).message)

    def end_txn(self, version: int, words: list[str]) -> str:
        values = self.identity(words)
        answer = self.side.ask_raw("EndTxn", version, **values, committed="commit" in words).message
        return self._given(answer) if version >= 5 else _said([answer.error_code])

    def add_partitions(self, version: int, words: list[str]) -> str:
        topics = [{"name": TOPIC, "partitions": [int("other" in words)]}]
        if "unknown" in words:
            topics.append({"name": "unknown", "partitions": [0]})
        one = self.identity(words) | {"verify_only": "verify" in words, "topics": topics}
        if version >= 4:
            answer = self.side.ask_raw("AddPartitionsToTxn", version, transactions=[one]).message
            found = [row for result in answer.results_by_transaction for row in result.topic_results]
        else:
            old = {f"v3_and_below_{key}": value for key, value in one.items() if key != "verify_only"}
            answer = self.side.ask_raw("AddPartitionsToTxn", version, **old).message
            found = answer.results_by_topic_v3_and_below
        rows = sorted(found, key=lambda row: str(row.name))
        return _said([each.partition_error_code for row in rows for each in row.results_by_partition])

    def add_offsets(self, version: int, words: list[str]) -> str:
        group = "" if "groupless" in words else GROUP
        return _said(
            [self.side.ask_raw("AddOffsetsToTxn", version, **self.identity(words), group_id=group).message.error_code]
        )

    def commit_offsets(self, version: int, words: list[str]) -> str:
        row = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
        values: dict[str, Any] = {"group_id": "" if "groupless" in words else GROUP}
        values["topics"] = [{"name": "unknown" if "unknown" in words else TOPIC, "partitions": [row]}]
        if "member" in words:
            values |= {"member_id": "stranger", "generation_id": 3}
        answer = self.side.ask_raw("TxnOffsetCommit", version, **self.identity(words), **values).message
        return _said([each.error_code for topic in answer.topics for each in topic.partitions])

    def produce(self, version: int, words: list[str]) -> str:
        who = self.identity(words)
        sequence = 3 if "gap" in words else 0
        batch = build_batch(
            [(b"k", b"v", (), 1_000_000)],
            producer_id=who["producer_id"],
            producer_epoch=who["producer_epoch"],
            base_sequence=sequence,
            transactional="plain" not in words,
        )
        row = {"index": int("other" in words), "records": bytes(batch)}
        answer = self.side.ask_raw(
            "Produce",
            version,
            transactional_id=None if "nameless" in words else who["transactional_id"],
            acks=-1,
            timeout_ms=5_000,
            topic_data=[{"name": TOPIC, "topic_id": IdOf(TOPIC), "partition_data": [row]}],
        ).message
        return _said([each.error_code for topic in answer.responses for each in topic.partition_responses])

    def markers(self, version: int, words: list[str]) -> str:
        given = dict(word.split("=") for word in words if "=" in word)
        who = self.identity(words)
        marker = {
            "producer_id": who["producer_id"],
            "producer_epoch": who["producer_epoch"],
            "transaction_result": "commit" in words,
            "topics": [{"name": "unknown" if "unknown" in words else TOPIC, "partition_indexes": [0]}],
            "coordinator_epoch": int(given.get("coordinator", LATER_COORDINATOR)),
            "transaction_version": int(given.get("version", 0)),
        }
        answer = self.side.ask_raw("WriteTxnMarkers", version, markers=[marker]).message
        return _said([each.error_code for one in answer.markers for topic in one.topics for each in topic.partitions])

    def describe(self, version: int, words: list[str]) -> str:
        name = "" if "unnamed" in words else self.name
        (found,) = self.side.ask_raw(
            "DescribeTransactions", version, transactional_ids=[name]
        ).message.transaction_states
        return f"{_said([found.error_code])} {found.transaction_state}".strip()

    def ask(self, request: str, version: int) -> str:
        api, *words = request.split()
        return REQUESTS[api](self, version, words)

    def _given(self, answer: Any) -> str:
        code = ErrorCode(answer.error_code)
        if code is not ErrorCode.NONE:
            return code.name
        return f"NONE epoch{answer.producer_epoch - self.epoch:+}" if answer.producer_id == self.id else "NONE new id"


REQUESTS: Final[dict[str, Callable[[Actor, int, list[str]], str]]] = {
    "InitProducerId": Actor.init,
    "AddPartitionsToTxn": Actor.add_partitions,
    "AddOffsetsToTxn": Actor.add_offsets,
    "EndTxn": Actor.end_txn,
    "TxnOffsetCommit": Actor.commit_offsets,
    "Produce": Actor.produce,
    "WriteTxnMarkers": Actor.markers,
    "DescribeTransactions": Actor.describe,
}


def _said(codes: list[int]) -> str:
    return " ".join(ErrorCode(code).name for code in codes)


def situated(side: Side, situation: str) -> Actor:
    """A fresh actor in one of the situations."""
    actor = Actor(side)
    if situation != "nobody":
        actor.begin(100 if situation == "timed out" else 60_000)
        SITUATIONS[situation](actor)
    return actor


def _ended(word: str, version: int, state: str) -> Callable[[Actor], None]:
    def ended(actor: Actor) -> None:
        actor.open()
        actor.end(word, version)
        actor.settle(state)

    return ended


def _ending(word: str, version: int, state: str) -> Callable[[Actor], None]:
    def ending(actor: Actor) -> None:
        actor.open()
        actor.hold_up()
        actor.end(word, version)
        actor.settle(state)

    return ending


def _next_begun(actor: Actor) -> None:
    _ended("commit", 5, "CompleteCommit")(actor)
    actor.open()


def _fenced(actor: Actor) -> None:
    actor.open()
    before = actor.id, actor.epoch
    actor.begin()
    actor.id, actor.epoch = before


def _timed_out(actor: Actor) -> None:
    actor.open()
    actor.settle("CompleteAbort")


def _written(actor: Actor) -> None:
    actor.open()
    said = actor.produce(11, [])
    assert said == "NONE", said


SITUATIONS: Final[dict[str, Callable[[Actor], None]]] = {
    "nobody": lambda actor: None,
    "empty": lambda actor: None,
    "open": Actor.open,
    "open, written": _written,
    "committing": _ending("commit", 4, "PrepareCommit"),
    "aborting": _ending("abort", 4, "PrepareAbort"),
    "committing, bumped": _ending("commit", 5, "PrepareCommit"),
    "aborting, bumped": _ending("abort", 5, "PrepareAbort"),
    "committed": _ended("commit", 4, "CompleteCommit"),
    "aborted": _ended("abort", 4, "CompleteAbort"),
    "committed, bumped": _ended("commit", 5, "CompleteCommit"),
    "aborted, bumped": _ended("abort", 5, "CompleteAbort"),
    "next begun": _next_begun,
    "fenced": _fenced,
    "timed out": _timed_out,
}
"""Bumped: ended by the second protocol (KIP-890), and the actor has heard of its new epoch."""
