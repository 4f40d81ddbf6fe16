"""A group member: joins, syncs, reads what it was assigned, commits, and takes part in every rebalance.

A member that is told to rejoin does; one that is no longer known begins anew; and some leave on their own in the
middle, because that is when others must take over exactly where they stood. A static member does not leave: it is
started again under the same instance id, and its old process is heard once more, which must be of no use to it. A
cooperative one keeps what it has while the group rebalances, and gives up only what it is told to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from penstock.core.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from penstock.sim.clients.assignors import Shares, assign_cooperatively, assign_ranges
from penstock.sim.clients.client import Client, Disconnected
from penstock.sim.clients.consumer import EARLIEST, Fetcher
from penstock.sim.clients.offsets import Membership, Offsets
from penstock.sim.clients.protocol import (
    NO_CLAIM,
    Claim,
    decode_assignment,
    decode_claim,
    encode_assignment,
    encode_subscription,
)
from penstock.sim.events import Assigned, FetchPart, GhostAnswered, GroupSaw, Partition
from penstock.sim.script import Script

SESSION_TIMEOUT_MS = 6_000
REBALANCE_TIMEOUT_MS = 10_000
PROTOCOL_TYPE = "consumer"
RANGES = "range"
COOPERATIVE = "cooperative-sticky"
LEAVES = 0.01
RESTARTS = 0.04

RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)

EXPELLED = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.ILLEGAL_GENERATION})
"""Whoever is told this has lost its partitions already; others may have them."""


class Rejoin(Exception):
    """The membership does not hold any longer."""


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A group and what it reads."""

    group: str
    partitions: tuple[Partition, ...]
    static: bool = False
    cooperative: bool = False


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
        self._protocol = COOPERATIVE if plan.cooperative else RANGES
        self._instance = client.name if plan.static else None
        self._member_id = ""
        self._ghost_id = ""
        self._generation = -1
        self._claim = NO_CLAIM

    def script(self) -> Script[None]:
        """Be a member until the group has read everything."""
        done = False
        while not done:
            try:
                self._check((yield from self._client.find_coordinator(self._plan.group)))
                partitions = yield from self._join()
                yield from self._haunt()
                done = yield from self._work(partitions)
            except (Rejoin, Disconnected):
                yield from self._client.back_off()
        yield from self._leave()
        self._client.disconnect()

    # ---- membership

    def _join(self) -> Script[tuple[Partition, ...]]:
        """Take part in a rebalance; gives what this member owns."""
        joined = yield from self._ask_to_join()
        self._member_id = joined.member_id or self._member_id
        self._check(joined.error_code)
        self._generation = joined.generation_id
        leads = joined.leader == joined.member_id and not joined.skip_assignment
        synced = yield from self._ask_to_sync(self._share_out(joined) if leads else {})
        self._check(synced.error_code)
        partitions = decode_assignment(synced.assignment)
        self._tell_assigned(partitions, leads)
        self._hand_over(partitions)
        return partitions

    def _tell_assigned(self, partitions: tuple[Partition, ...], leads: bool) -> None:
        self._client.world.witness.see(
            Assigned(
                self._plan.group,
                self._generation,
                self._instance or self._member_id,
                partitions,
                is_leader=leads,
                is_static=self._plan.static,
                kept=self._claim.partitions,
            )
        )

    def _share_out(self, joined: JoinGroupResponse) -> Shares:
        if self._plan.cooperative:
            claims = {member.member_id: decode_claim(member.metadata) for member in joined.members}
            return assign_cooperatively(self._plan.partitions, claims)
        return assign_ranges(self._plan.partitions, [member.member_id for member in joined.members])

    def _hand_over(self, partitions: tuple[Partition, ...]) -> None:
        """A cooperative member that must give something up does so, and says so by joining again."""
        if self._plan.cooperative:
            before, self._claim = self._claim, Claim(self._generation, partitions)
            if set(before.partitions) - set(partitions):
                raise Rejoin

    def _ask_to_join(self) -> Script[JoinGroupResponse]:
        topics = sorted({partition.topic for partition in self._plan.partitions})
        request = JoinGroupRequest(
            group_id=self._plan.group,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
            member_id=self._member_id,
            group_instance_id=self._instance,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(name=self._protocol, metadata=encode_subscription(topics, self._claim))
            ],
        )
        return (yield from self._client.call_coordinator(request, JoinGroupResponse))

    def _ask_to_sync(self, assignments: Mapping[str, tuple[Partition, ...]]) -> Script[SyncGroupResponse]:
        request = SyncGroupRequest(
            group_id=self._plan.group,
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=self._instance,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=self._protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(partitions))
                for member, partitions in assignments.items()
            ],
        )
        return (yield from self._client.call_coordinator(request, SyncGroupResponse))

    def _beat(self) -> Script[None]:
        reply = yield from self._ask_to_beat(self._member_id)
        self._check(reply.error_code)

    def _ask_to_beat(self, member_id: str) -> Script[HeartbeatResponse]:
        request = HeartbeatRequest(
            group_id=self._plan.group,
            generation_id=self._generation,
            member_id=member_id,
            group_instance_id=self._instance,
        )
        return (yield from self._client.call_coordinator(request, HeartbeatResponse))

    def _haunt(self) -> Script[None]:
        """Where this process took the place of an old one, let the old one speak."""
        ghost_id, self._ghost_id = self._ghost_id, ""
        if ghost_id and self._instance is not None and ghost_id != self._member_id:
            reply = yield from self._ask_to_beat(ghost_id)
            code = ErrorCode(reply.error_code)
            self._client.world.witness.see(GhostAnswered(self._plan.group, self._instance, code.name))

    def _go_away(self) -> Script[None]:
        """In the middle of the work: a static member is started again, any other one leaves."""
        if self._plan.static:
            self._ghost_id = self._member_id
        else:
            yield from self._leave()
        self._member_id, self._claim = "", NO_CLAIM
        raise Rejoin

    def _leave(self) -> Script[None]:
        identity = MemberIdentity(member_id=self._member_id, group_instance_id=self._instance)
        request = LeaveGroupRequest(group_id=self._plan.group, members=[identity])
        try:
            yield from self._client.call_coordinator(request, LeaveGroupResponse)
        except Disconnected:
            return  # Its session will run out, which does the same.

    def _check(self, error_code: int) -> None:
        """Go on if all is well; otherwise join again, under a new name where the old one is forgotten."""
        code = ErrorCode(error_code)
        if code is ErrorCode.NONE:
            return
        excused = code in RETRIABLE or code in self._client.excuses
        assert excused, f"{self._client.name} got {code!r}"
        if code in EXPELLED:
            self._claim = NO_CLAIM
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
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
                for part in (yield from self._fetcher.fetch(self._client.fetchable(positions))):
                    yield from self._take(part, positions)
            else:
                yield from self._client.back_off()
            if self._client.chance.happens(RESTARTS if self._plan.static else LEAVES):
                yield from self._go_away()
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
            nearest = yield from self._fetcher.find_nearest(part.partition, positions[part.partition])
            if nearest is None:
                raise Rejoin
            positions[part.partition] = nearest
        elif part.error != ErrorCode.NONE:
            raise Rejoin
        elif part.goes_on_at is not None:
            saw = GroupSaw(self._plan.group, part.partition, positions[part.partition], part.goes_on_at)
            self._client.world.witness.see(saw)
            positions[part.partition] = part.goes_on_at
            sender = Membership(self._plan.group, self._member_id, self._generation, self._instance)
            code = yield from self._offsets.commit(sender, part.partition, positions[part.partition])
            self._check(code)
