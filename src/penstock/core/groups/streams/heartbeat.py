"""StreamsGroupHeartbeat, version 0: how a member joins, says what it runs and has, and hears what is its own.

Four steps: the member as it is from now on; its application beside the topics there are; where the group has changed,
its next epoch and a new target assignment; and the member's next step towards that. All of it is decided on values, and
becomes true with the records.
"""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.values import frozen, replaced
from penstock.core.groups.asked import Asked
from penstock.core.groups.metadata_hash import metadata_hash
from penstock.core.groups.streams import sessions
from penstock.core.groups.streams.checking import JOIN_EPOCH, check_epoch, check_owned
from penstock.core.groups.streams.configuring import (
    ASSIGNMENT_DELAYED,
    SHUTDOWN_APPLICATION,
    STALE_TOPOLOGY,
    Configured,
    Told,
    configure,
)
from penstock.core.groups.streams.endpoints import endpoints
from penstock.core.groups.streams.group import NOT_VALID, StreamsGroup
from penstock.core.groups.streams.member import StreamsMember
from penstock.core.groups.streams.reconciling import Taken, reconciled
from penstock.core.groups.streams.records import current_record, epoch_record, member_record, topology_record
from penstock.core.groups.streams.targeting import assignment_configs, is_due, retarget
from penstock.core.groups.streams.tasks import NO_TASKS, Roles, Tasks, read
from penstock.core.groups.streams.topology import Topology
from penstock.core.groups.streams.topology import read as read_topology
from penstock.core.groups.topics import TopicLookup
from penstock.core.groups.turn import Turn
from penstock.core.wire.api.streams_group_heartbeat import (
    ResponseTaskIds,
    Status,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)


@frozen
class Beat:
    """One heartbeat of somebody who stays, and what is known around it."""

    turn: Turn
    lookup: TopicLookup
    group: StreamsGroup
    asked: Asked[StreamsGroupHeartbeatRequest]
    is_known: bool
    """Whether the group was there before."""
    is_delayed: bool
    """Whether a new group still waits for further members."""

    def decide(self) -> StreamsGroupHeartbeatResponse:
        turn, group, request = self.turn, self.group, self.asked.request
        owned = _owned(request)
        before = self._before(owned)
        said = _updated(before, self.asked)
        is_new = said.member_id not in group.members
        has_changed = is_new or said.said != before.said
        if has_changed:
            self._write_member(before, said, is_new)
        topology = self._topology()
        told = _stale(topology, said)
        configured = group.configured or configure(topology, self.lookup)
        if configured.is_ready and owned is not None:
            check_owned(configured, owned)
        epoch = self._epoch(topology, configured, has_changed)
        target_epoch, target = self._target(epoch, topology, configured, said, told)
        after = reconciled(said, target_epoch, target, owned, Taken(group.others(said.member_id)))
        if after != said or is_new:
            turn.result.records.append(current_record(group.group_id, after))
            sessions.watch(turn, group.group_id, after)
        sessions.keep_alive(turn, group.group_id, after.member_id)
        if request.shutdown_application and group.shutdown_by is None:
            group.shutdown_by = after.member_id
        told += [configured.trouble] if configured.trouble is not None else []
        has_changed = after.assigned != (before.assigned if owned is None else owned)
        return self._response(has_changed, after, topology, told + _shutdown(group))

    def _before(self, owned: Roles | None) -> StreamsMember:
        group, request = self.group, self.asked.request
        if request.member_epoch != JOIN_EPOCH:
            member = group.member(request.member_id)
            check_epoch(member, request.member_epoch, owned)
            return member
        known = group.members.get(request.member_id)
        members_max = self.turn.settings.streams_members_max
        if known is None and len(group.members) >= members_max:
            raise ApiError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The streams group has reached its maximum capacity of {members_max} members.",
            )
        return known or StreamsMember(request.member_id)

    def _write_member(self, before: StreamsMember, said: StreamsMember, is_new: bool) -> None:
        growth = said.size_bytes - (0 if is_new else before.size_bytes)
        if not self.turn.memory.admits(said.size_bytes, growth, self.turn.now_ms):
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self.turn.result.records.append(member_record(self.group.group_id, said))

    def _topology(self) -> Topology:
        """The first member says what it is; who has an older one is told, and who has another one cannot join."""
        known, said = self.group.topology, self.asked.request.topology
        if said is None:
            assert known is not None, "a group with members has one"
            return known
        wanted = read_topology(said)
        if known is None:
            self.turn.result.records.append(topology_record(self.group.group_id, wanted))
            return wanted
        if wanted.epoch >= known.epoch and wanted != known:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
        return known

    def _epoch(self, topology: Topology, configured: Configured, has_changed: bool) -> int:
        """The next one where members, topics or settings have changed."""
        group = self.group
        found = group.metadata_hash if group.configured else metadata_hash(self.lookup, topology.topics)
        group.configured = configured
        valid_epoch = topology.epoch if configured.is_ready else NOT_VALID
        configs = assignment_configs(self.turn)
        now = (found, valid_epoch, configs)
        if not has_changed and now == (group.metadata_hash, group.valid_epoch, group.assignment_configs):
            return group.epoch
        if group.epoch == group.assignment_epoch:
            self.turn.counts.rebalances += 1
        self.turn.result.records.append(epoch_record(group.group_id, group.epoch + 1, *now))
        return group.epoch + 1

    def _target(
        self, epoch: int, topology: Topology, configured: Configured, said: StreamsMember, told: list[Told]
    ) -> tuple[int, Roles]:
        group = self.group
        if self.is_delayed:
            why = "Assignment delayed due to the configured initial rebalance delay."
            told.append(Told(ASSIGNMENT_DELAYED, why))
            return group.assignment_epoch, NO_TASKS
        if group.assignment_epoch >= epoch:
            return group.assignment_epoch, group.target(said.member_id)
        if not is_due(self.turn, group):
            told.append(Told(ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval."))
            return group.assignment_epoch, group.target(said.member_id)
        return epoch, retarget(self.turn, group, epoch, topology, configured, said)

    def _response(
        self, has_changed: bool, after: StreamsMember, topology: Topology, told: list[Told]
    ) -> StreamsGroupHeartbeatResponse:
        """Who says that it has something else than what it was given has not heard of that."""
        group, request = self.group, self.asked.request
        response = StreamsGroupHeartbeatResponse(
            member_id=after.member_id,
            member_epoch=after.epoch,
            heartbeat_interval_ms=self.turn.settings.streams_heartbeat_interval_ms,
            status=[Status(status_code=each.code, status_detail=each.detail) for each in told],
        )
        if request.member_epoch == JOIN_EPOCH or has_changed:
            response.active_tasks, response.standby_tasks, response.warmup_tasks = map(_ids, after.assigned)
            group.endpoints_epoch += after.endpoint is not None and self.is_known
        if group.endpoints_epoch != request.endpoint_information_epoch:
            members = [*group.others(after.member_id), after]
            response.partitions_by_user_endpoint = endpoints(self.lookup, topology, members)
        response.endpoint_information_epoch = group.endpoints_epoch
        return response


def _updated(member: StreamsMember, asked: Asked[StreamsGroupHeartbeatRequest]) -> StreamsMember:
    """What it does not say stays as it was."""
    request = asked.request
    changes: dict[str, object] = {"client_id": asked.client_id, "client_host": asked.client_host}
    if request.rack_id is not None:
        changes["rack_id"] = request.rack_id
    if request.rebalance_timeout_ms != -1:
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.topology is not None:
        changes["topology_epoch"] = request.topology.epoch
    if request.process_id is not None:
        changes["process_id"] = request.process_id
    if request.user_endpoint is not None:
        changes["endpoint"] = (request.user_endpoint.host, request.user_endpoint.port)
    if request.client_tags is not None:
        changes["tags"] = tuple((each.key, each.value) for each in request.client_tags)
    return replaced(member, **changes)


def _owned(request: StreamsGroupHeartbeatRequest) -> Roles | None:
    if request.active_tasks is None:
        return None
    return Roles(read(request.active_tasks), read(request.standby_tasks), read(request.warmup_tasks))


def _stale(topology: Topology, member: StreamsMember) -> list[Told]:
    if member.topology_epoch >= topology.epoch:
        return []
    why = f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch {topology.epoch}."
    return [Told(STALE_TOPOLOGY, why)]


def _shutdown(group: StreamsGroup) -> list[Told]:
    if group.shutdown_by is None:
        return []
    why = "encountered a fatal error and requested a shutdown for the entire application."
    return [Told(SHUTDOWN_APPLICATION, f"Streams group member {group.shutdown_by} {why}")]


def _ids(tasks: Tasks) -> list[ResponseTaskIds]:
    return [ResponseTaskIds(subtopology_id=name, partitions=sorted(numbers)) for name, numbers in tasks.items()]
