"""A group member: joins, syncs, reads what it was assigned, commits, and takes part in every rebalance.

The leader assigns ranges. A member that is told to rejoin does; one that is no longer known begins anew; and some
leave on their own in the middle, because that is when others must take over exactly where they stood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from penstock.core.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.consumer import EARLIEST, LATEST, Fetcher
from penstock.sim.clients.offsets import Offsets
from penstock.sim.clients.protocol import decode_assignment, encode_assignment, encode_subscription
from penstock.sim.events import Assigned, FetchPart, Partition
from penstock.sim.script import Script

SESSION_TIMEOUT_MS = 6_000
REBALANCE_TIMEOUT_MS = 10_000
PROTOCOL_TYPE = "consumer"
PROTOCOL = "range"
LEAVES = 0.01

RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


class Rejoin(Exception):
    """The membership does not hold any longer."""


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A group and what it reads."""

    group: str
    partitions: tuple[Partition, ...]


class Member:
    """One member of a group."""

    def __init__(
        self,
        client: Client,
        fetcher: Fetcher,
        offsets: Offsets,
        plan: GroupPlan,
        is_done: Callable[[Mapping[Partition, int]], bool],
    ) -> None:
        self._client = client
        self._fetcher = fetcher
        self._offsets = offsets
        self._plan = plan
        self._is_done = is_done
        self._member_id = ""
        self._generation = -1

    def script(self) -> Script[None]:
        """Be a member until the group has read everything."""
        done = False
        while not done:
            try:
                yield from self._find_coordinator()
                partitions = yield from self._join()
                done = yield from self._work(partitions)
            except (Rejoin, Disconnected):
                yield from self._client.back_off()
        yield from self._leave()
        self._client.disconnect()

    # ---- membership

    def _find_coordinator(self) -> Script[None]:
        """Ask who coordinates the group, as every client does first; the first to ask has its topic made."""
        group = self._plan.group
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        reply = yield from self._client.call(request, FindCoordinatorResponse)
        self._check(reply.coordinators[0].error_code)

    def _join(self) -> Script[tuple[Partition, ...]]:
        """Take part in a rebalance; gives what this member owns."""
        joined = yield from self._ask_to_join()
        self._member_id = joined.member_id or self._member_id
        self._check(joined.error_code)
        self._generation = joined.generation_id
        members = [member.member_id for member in joined.members] if joined.leader == joined.member_id else []
        assignments = _ranges(self._plan.partitions, members)
        synced = yield from self._ask_to_sync(assignments)
        self._check(synced.error_code)
        partitions = decode_assignment(synced.assignment)
        self._client.world.witness.see(
            Assigned(self._plan.group, self._generation, self._member_id, partitions, is_leader=bool(members))
        )
        return partitions

    def _ask_to_join(self) -> Script[JoinGroupResponse]:
        topics = sorted({partition.topic for partition in self._plan.partitions})
        request = JoinGroupRequest(
            group_id=self._plan.group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=PROTOCOL, metadata=encode_subscription(topics))],
        )
        return (yield from self._client.call(request, JoinGroupResponse))

    def _ask_to_sync(self, assignments: Mapping[str, tuple[Partition, ...]]) -> Script[SyncGroupResponse]:
        request = SyncGroupRequest(
            group_id=self._plan.group,
            generation_id=self._generation,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(partitions))
                for member, partitions in assignments.items()
            ],
        )
        return (yield from self._client.call(request, SyncGroupResponse))

    def _beat(self) -> Script[None]:
        request = HeartbeatRequest(group_id=self._plan.group, generation_id=self._generation, member_id=self._member_id)
        reply = yield from self._client.call(request, HeartbeatResponse)
        self._check(reply.error_code)

    def _leave(self) -> Script[None]:
        identity = MemberIdentity(member_id=self._member_id)
        request = LeaveGroupRequest(group_id=self._plan.group, members=[identity])
        try:
            yield from self._client.call(request, LeaveGroupResponse)
        except Disconnected:
            return  # Its session will run out, which does the same.

    def _check(self, error_code: int) -> None:
        """Go on if all is well; otherwise join again, under a new name where the old one is forgotten."""
        code = ErrorCode(error_code)
        if code is ErrorCode.NONE:
            return
        assert code in RETRIABLE, f"{self._client.name} got {code!r}"
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        raise Rejoin

    # ---- work

    def _work(self, partitions: tuple[Partition, ...]) -> Script[bool]:
        """Read and commit; True when everything assigned has been read to its end."""
        positions: dict[Partition, int] = {}
        for partition in partitions:
            positions[partition] = yield from self._find_start(partition)
        while not self._is_done(positions):
            yield from self._beat()
            if positions:
                for part in (yield from self._fetcher.fetch(positions)):
                    yield from self._take(part, positions)
            else:
                yield from self._client.back_off()
            if self._client.chance.happens(LEAVES):
                yield from self._leave()
                self._member_id = ""
                raise Rejoin
        return True

    def _find_start(self, partition: Partition) -> Script[int]:
        committed, code = yield from self._offsets.read(self._plan.group, partition)
        self._check(code)
        if committed >= 0:
            return committed
        start = yield from self._fetcher.find_offset(partition, EARLIEST)
        if start is None:
            raise Rejoin
        return start

    def _take(self, part: FetchPart, positions: dict[Partition, int]) -> Script[None]:
        if part.error == ErrorCode.OFFSET_OUT_OF_RANGE:
            end = yield from self._fetcher.find_offset(part.partition, LATEST)
            if end is None:
                raise Rejoin
            positions[part.partition] = end
        elif part.error != ErrorCode.NONE:
            raise Rejoin
        elif part.records:
            positions[part.partition] = part.records[-1][0] + 1
            code = yield from self._offsets.commit(
                self._plan.group, self._member_id, self._generation, part.partition, positions[part.partition]
            )
            self._check(code)


def _ranges(partitions: Iterable[Partition], members: list[str]) -> dict[str, tuple[Partition, ...]]:
    """Neighbouring partitions to each member, as evenly as possible."""
    everything, found, at = list(partitions), {}, 0
    for number, member in enumerate(members):
        share = len(everything) // len(members) + (number < len(everything) % len(members))
        found[member] = tuple(everything[at : at + share])
        at += share
    return found
