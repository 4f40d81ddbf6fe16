"""Members that speak the classic protocol as client libraries do: they join, wait, assign where they lead, and give up
what they must before or after, as their assignor is eager or cooperative."""

from __future__ import annotations

import struct
from typing import Any, Final

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from penstock.core.wire.api.leave_group import LeaveGroupRequest, MemberIdentity
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from penstock.core.wire.stored.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from tests.groups.consumer.players import GROUP, REBALANCE_MS, Held
from tests.groups.world import Token, World, topic_id_of

SESSION_MS: Final = 12_000
STEPS_MAX: Final = 12
VERSION: Final = 1
_TAG: Final = struct.Struct(">h")
JOIN_VERSION: Final = 5


def subscription(topics: set[str], owned: Held | None = None, world: World | None = None) -> bytes:
    partitions = [
        ConsumerProtocolSubscriptionTopicPartition(topic=name, partitions=sorted(numbers))
        for topic_id, numbers in (owned or {}).items()
        if world is not None and (name := world.topics.name_of(topic_id)) and numbers
    ]
    said = ConsumerProtocolSubscription(topics=sorted(topics), owned_partitions=partitions)
    return _TAG.pack(VERSION) + said.encode(VERSION)


class ClassicPlayer:
    """One process."""

    def __init__(self, world: World, topics: set[str], *, is_eager: bool = False, instance: str | None = None) -> None:
        self._world = world
        self.topics = topics
        self._is_eager = is_eager
        self._instance = instance
        self.member_id, self.generation = "", -1
        self.held: Held = {}
        self.codes: list[ErrorCode] = []
        self._must_join = True
        self._waits: tuple[str, Token] | None = None
        self._roster: dict[str, ConsumerProtocolSubscription] | None = None

    def beat(self) -> None:
        """Go on as far as it can without waiting; one heartbeat at most."""
        for _ in range(STEPS_MAX):
            if self._waits is not None:
                if not self._heard():
                    return
            elif self._must_join:
                self._join()
            else:
                self._ask("heartbeat", HeartbeatRequest(group_id=GROUP, **self._me()), 3)
                self._heard()
                if not self._must_join:
                    return

    def leave(self) -> None:
        if self._waits is not None:
            self._world.drop(self._waits[1]) if self._waits[1] not in self._world.answers else None
            self._waits = None
        leaver = MemberIdentity(member_id=self.member_id, group_instance_id=self._instance)
        self._world.ask(LeaveGroupRequest(group_id=GROUP, members=[leaver]), 3)
        self._forget("")

    def silence(self) -> None:
        if self._waits is not None and self._waits[1] not in self._world.answers:
            self._world.drop(self._waits[1])
        self._waits = None
        self._forget("")

    @property
    def count(self) -> int:
        return sum(map(len, self.held.values()))

    def _me(self) -> dict[str, Any]:
        return {
            "member_id": self.member_id,
            "generation_id": self.generation,
            "group_instance_id": self._instance,
        }

    def _ask(self, what: str, request: Any, version: int) -> None:
        self._waits = what, self._world.ask(request, version, client_id="c", client_host="/h")

    def _heard(self) -> bool:
        assert self._waits is not None
        what, token = self._waits
        answer: Any = self._world.answers.get(token)
        if answer is None:
            return False
        self._waits = None
        code = ErrorCode(answer.error_code)
        self.codes.append(code)
        if code is not ErrorCode.NONE:
            self._refused(code, answer)
        elif what == "join":
            self._joined(answer)
        elif what == "sync":
            self._assigned(answer.assignment)
        return True

    def _refused(self, code: ErrorCode, answer: Any) -> None:
        self._must_join = True
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            self._forget("")
        elif code is ErrorCode.ILLEGAL_GENERATION:
            self._forget(self.member_id)
        else:
            assert code in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.NOT_COORDINATOR), code

    def _forget(self, member_id: str) -> None:
        self.member_id, self.generation, self.held, self._must_join = member_id, -1, {}, True

    def _join(self) -> None:
        if self._is_eager:
            self.held = {}
        name = "range" if self._is_eager else "cooperative-sticky"
        protocols = [JoinGroupRequestProtocol(name=name, metadata=subscription(self.topics, self.held, self._world))]
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self._instance,
            protocol_type="consumer",
            protocols=protocols,
        )
        self._must_join = False
        self._ask("join", request, JOIN_VERSION)

    def _joined(self, answer: JoinGroupResponse) -> None:
        self.member_id, self.generation = answer.member_id, answer.generation_id
        given = self._assigns(answer) if answer.leader == answer.member_id else []
        self._ask("sync", SyncGroupRequest(group_id=GROUP, assignments=given, **self._me()), 3)

    def _assigns(self, answer: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """Each partition to the next of its readers, unless somebody else still has it."""
        words = {
            each.member_id: ConsumerProtocolSubscription.decode_from(each.metadata, VERSION, _TAG.size)[0]
            for each in answer.members
        }
        has = {
            (topic.topic, number): member_id
            for member_id, said in words.items()
            for topic in said.owned_partitions
            for number in topic.partitions
        }
        given: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in words}
        for topic, count in self._world.topics.counts.items():
            readers = sorted(member_id for member_id, said in words.items() if topic in said.topics)
            for number in range(count if readers else 0):
                reader = readers[number % len(readers)]
                if has.get((topic, number), reader) == reader:
                    given[reader].setdefault(topic, []).append(number)
        return [
            SyncGroupRequestAssignment(member_id=member_id, assignment=_assignment(mine))
            for member_id, mine in given.items()
        ]

    def _assigned(self, data: bytes) -> None:
        told: Held = {}
        if data:
            assignment, _ = ConsumerProtocolAssignment.decode_from(data, _TAG.unpack_from(data)[0], _TAG.size)
            told = {topic_id_of(each.topic): set(each.partitions) for each in assignment.assigned_partitions}
        lost = any(numbers - told.get(topic_id, set()) for topic_id, numbers in self.held.items())
        self.held = told
        self._must_join = lost and not self._is_eager


def _assignment(given: dict[str, list[int]]) -> bytes:
    partitions = [
        ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=numbers) for topic, numbers in given.items()
    ]
    return _TAG.pack(VERSION) + ConsumerProtocolAssignment(assigned_partitions=partitions).encode(VERSION)
