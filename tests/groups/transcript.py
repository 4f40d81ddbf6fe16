"""Plays a transcript: lines that begin with `>` are commands, the lines below each are what came of it.

Clients go by short names. A client remembers the member id and the generation it was told last, and uses them unless a
command says otherwise. Member ids are shown as `name#n`, n counting the ids that name was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.groups.asked import Asked
from penstock.core.groups.classic.records import GROUP_METADATA_TYPE, decode_group_key, decode_group_value
from penstock.core.groups.fanout import merge_offset_fetch, split_offset_fetch
from penstock.core.groups.offsets.records import decode_offset_key, decode_offset_value
from penstock.core.groups.records import tag_of
from penstock.core.groups.settings import GroupSettings
from penstock.core.rsm.result import Reply
from penstock.core.wire.api.delete_groups import DeleteGroupsRequest
from penstock.core.wire.api.describe_groups import DescribeGroupsRequest
from penstock.core.wire.api.heartbeat import HeartbeatRequest
from penstock.core.wire.api.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from penstock.core.wire.api.leave_group import LeaveGroupRequest, MemberIdentity
from penstock.core.wire.api.list_groups import ListGroupsRequest
from penstock.core.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from penstock.core.wire.api.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from penstock.core.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from penstock.core.wire.stored.consumer_protocol import ConsumerProtocolSubscription
from tests.groups.world import Token, World, topic_id_of

GROUP = "g"


def play(text: str) -> str:
    """The transcript as it turns out now."""
    stage = Stage()
    lines = []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            lines.append(line)
        elif line.startswith("> "):
            lines += [line, *stage.perform(line[2:])]
    return "\n".join(lines) + "\n"


def subscription(*topics: str) -> bytes:
    return b"\0\0" + ConsumerProtocolSubscription(topics=list(topics)).encode(0)


class Client:
    def __init__(self, name: str) -> None:
        self.name = name
        self.member_id = ""
        self.generation = -1
        self.instance: str | None = None
        self.last: Token | None = None


class Stage:
    """The world, its clients, and the words a transcript may use."""

    def __init__(self) -> None:
        self.world = World()
        self.clients: dict[str, Client] = {}
        self.ids: dict[str, str] = {"": '""'}

    def perform(self, line: str) -> Iterator[str]:
        word, *arguments = line.split()
        options = dict(each.split("=", 1) for each in arguments if "=" in each)
        plain = [each for each in arguments if "=" not in each]
        logged, answered = len(self.world.log), set(self.world.answers)
        action: Callable[..., Iterator[str] | None] = getattr(self, f"do_{word}")
        told = list(action(*plain, **options) or ())
        news = [(token, message) for token, message in self.world.answers.items() if token not in answered]
        for token, message in news:
            self._learn(token, message)
        yield from (f"  log {self._record(*record)}" for record in self.world.log[logged:])
        yield from (f"  {token!r} {self._response(message)}" for token, message in news)
        yield from (f"  {each}" for each in told)

    # Commands.

    def do_settings(self, **changed: str) -> None:
        """A fresh world with other settings."""
        self.clients.clear()
        self.ids = {"": '""'}
        self.world = World(GroupSettings(**{key: int(value) for key, value in changed.items()}))

    def do_join(
        self,
        name: str,
        v: str = "9",
        id: str | None = None,  # The word of the transcript.
        type: str = "consumer",
        protocols: str = "range",
        topics: str = "orders",
        session: str = "10000",
        rebalance: str = "60000",
        instance: str | None = None,
        group: str = GROUP,
    ) -> None:
        client = self._client(name)
        client.instance = instance or client.instance
        metadata = subscription(*topics.split(","))
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=int(session),
            rebalance_timeout_ms=int(rebalance) if int(v) >= 1 else -1,
            member_id=self._id(client, id),
            group_instance_id=client.instance,
            protocol_type=type,
            protocols=[JoinGroupRequestProtocol(name=each, metadata=metadata) for each in protocols.split(",") if each],
        )
        client.last = self.world.ask(request, int(v), name, client_id=name, client_host="/h")

    def do_sync(
        self,
        name: str,
        v: str = "5",
        gen: str | None = None,
        id: str | None = None,
        protocol: str = "range",
        type: str = "consumer",
        **assignments: str,
    ) -> None:
        client = self._client(name)
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=client.generation if gen is None else int(gen),
            member_id=self._id(client, id),
            group_instance_id=client.instance,
            protocol_type=type,
            protocol_name=None if protocol == "null" else protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=self._client(each).member_id, assignment=part.encode())
                for each, part in assignments.items()
            ],
        )
        client.last = self.world.ask(request, int(v), name)

    def do_beat(self, name: str, gen: str | None = None, id: str | None = None, group: str = GROUP) -> None:
        client = self._client(name)
        request = HeartbeatRequest(
            group_id=group,
            generation_id=client.generation if gen is None else int(gen),
            member_id=self._id(client, id),
            group_instance_id=client.instance,
        )
        self.world.ask(request, 4, name)

    def do_leave(self, *names: str, v: str = "5", instance: str | None = None, group: str = GROUP) -> None:
        clients = [self._client(name) for name in names]
        if int(v) < 3:
            request = LeaveGroupRequest(group_id=group, member_id=clients[0].member_id)
        else:
            leavers = [MemberIdentity(member_id=each.member_id, group_instance_id=each.instance) for each in clients]
            leavers += [MemberIdentity(group_instance_id=instance)] if instance else []
            request = LeaveGroupRequest(group_id=group, members=leavers)
        self.world.ask(request, int(v), "+".join(names) or "admin")

    def do_wait(self, duration: str) -> None:
        self.world.wait(int(duration))

    def do_drop(self, name: str) -> None:
        token = self._client(name).last
        assert token is not None
        self.world.drop(token)

    def do_restart(self) -> None:
        self.world.restart()

    def do_commit(
        self,
        name: str,
        v: str = "10",
        gen: str | None = None,
        retention: str = "-1",
        metadata: str = "",
        group: str = GROUP,
        **offsets: str,
    ) -> None:
        client = self._client(name)
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for where, offset in offsets.items():
            topic, _, partition = where.partition(":")
            topics.setdefault(topic, []).append(
                OffsetCommitRequestPartition(
                    partition_index=int(partition), committed_offset=int(offset), committed_metadata=metadata
                )
            )
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=client.generation if gen is None else int(gen),
            member_id=client.member_id,
            group_instance_id=client.instance,
            retention_time_ms=int(retention),
            topics=[
                OffsetCommitRequestTopic(name=topic, topic_id=topic_id_of(topic), partitions=partitions)
                for topic, partitions in topics.items()
            ],
        )
        self.world.ask(request, int(v), name)

    def do_fetch(self, *where: str, v: str = "10", groups: str = GROUP) -> Iterator[str]:
        """`fetch` alone asks for everything."""
        wanted: dict[str, list[int]] | None = {} if where else None
        for each in where:
            topic, _, partition = each.partition(":")
            assert wanted is not None
            wanted.setdefault(topic, []).append(int(partition))
        version = int(v)
        request = OffsetFetchRequest()
        if version < 8:
            request.group_id = groups
            request.topics = None
            if wanted is not None:
                request.topics = [OffsetFetchRequestTopic(name=t, partition_indexes=p) for t, p in wanted.items()]
        for group in groups.split(",") if version >= 8 else ():
            topics = None
            if wanted is not None:
                topics = [
                    OffsetFetchRequestTopics(name=t, topic_id=topic_id_of(t), partition_indexes=p)
                    for t, p in wanted.items()
                ]
            request.groups.append(OffsetFetchRequestGroup(group_id=group, topics=topics))
        heard = OffsetFetchRequest.decode(request.encode(version), version)
        (part,) = split_offset_fetch(heard, version, 1).values()
        token = Token("fetch", version)
        result = self.world.shard.answer(self.world.now_ms, Asked(part, version, token))
        merged: Any = merge_offset_fetch([message for _, message in result.replies], version)  # type: ignore[misc]
        merged.encode(version)
        return self._offsets(merged, version)

    def do_delete_offsets(self, *where: str) -> None:
        topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
        for each in where:
            topic, _, partition = each.partition(":")
            topics.setdefault(topic, []).append(OffsetDeleteRequestPartition(partition_index=int(partition)))
        asked = [OffsetDeleteRequestTopic(name=topic, partitions=partitions) for topic, partitions in topics.items()]
        self.world.ask(OffsetDeleteRequest(group_id=GROUP, topics=asked), 0, "admin")

    def do_delete_groups(self, *groups: str) -> None:
        self.world.ask(DeleteGroupsRequest(groups_names=list(groups)), 2, "admin")

    def do_describe(self, group: str = GROUP, v: str = "6") -> None:
        self.world.ask(DescribeGroupsRequest(groups=[group]), int(v), "admin")

    def do_list(self, states: str = "", types: str = "") -> None:
        request = ListGroupsRequest(
            states_filter=[each for each in states.split(",") if each],
            types_filter=[each for each in types.split(",") if each],
        )
        self.world.list_groups(request, 5, "admin")

    def do_expire(self) -> None:
        self.world.sweep(self.world.shard.expire_offsets())

    def do_delete_topic(self, topic: str) -> None:
        del self.world.topics.counts[topic]
        self.world.delete_topic(topic, topic_id_of(topic))

    # How things are shown.

    def _learn(self, token: Reply, message: Any) -> None:
        """What a client takes from the answer to its join."""
        if not isinstance(message, JoinGroupResponse):
            return
        client = self.clients[repr(token)]
        if message.member_id not in self.ids:
            count = sum(shown.startswith(f"{client.name}#") for shown in self.ids.values()) + 1
            self.ids[message.member_id] = f"{client.name}#{count}"
        client.member_id = message.member_id
        if not message.error_code:
            client.generation = message.generation_id

    def _response(self, message: Any) -> str:
        show: Callable[[Any], str] = getattr(self, f"_show_{type(message).__name__}")
        return show(message)

    def _show_JoinGroupResponse(self, message: Any) -> str:
        if message.error_code:
            return f"join {_code(message)} id={self.ids[message.member_id]}"
        members = ",".join(self.ids[each.member_id] for each in message.members)
        parts = [
            f"join ok gen={message.generation_id} id={self.ids[message.member_id]}",
            f"{message.protocol_type}/{message.protocol_name} leader={self.ids[message.leader]}",
            f"members=[{members}]",
        ]
        return " ".join(parts) + (" skip" if message.skip_assignment else "")

    def _show_SyncGroupResponse(self, message: Any) -> str:
        if message.error_code:
            return f"sync {_code(message)}"
        return f"sync ok {message.protocol_type}/{message.protocol_name} assignment={message.assignment.decode()!r}"

    def _show_HeartbeatResponse(self, message: Any) -> str:
        return f"beat {_code(message)}"

    def _show_LeaveGroupResponse(self, message: Any) -> str:
        members = [f"{self.ids[each.member_id]}/{each.group_instance_id} {_code(each)}" for each in message.members]
        return f"leave {_code(message)} [{', '.join(members)}]"

    def _show_OffsetCommitResponse(self, message: Any) -> str:
        answers = [f"{t.name}:{p.partition_index} {_code(p)}" for t in message.topics for p in t.partitions]
        return f"commit {', '.join(answers)}"

    def _show_OffsetDeleteResponse(self, message: Any) -> str:
        answers = [f"{t.name}:{p.partition_index} {_code(p)}" for t in message.topics for p in t.partitions]
        return f"delete_offsets {_code(message)} {', '.join(answers)}".rstrip()

    def _show_DeleteGroupsResponse(self, message: Any) -> str:
        return f"delete_groups {', '.join(f'{each.group_id} {_code(each)}' for each in message.results)}"

    def _show_ListGroupsResponse(self, message: Any) -> str:
        shown = [f"{g.group_id}({g.group_type}, {g.protocol_type!r}, {g.group_state})" for g in message.groups]
        return f"list {_code(message)} {', '.join(shown)}".rstrip()

    def _show_DescribeGroupsResponse(self, message: Any) -> str:
        (group,) = message.groups
        members = [
            f"{self.ids[m.member_id]} {m.client_id}{m.client_host} {len(m.member_metadata)}B"
            f" {m.member_assignment.decode()!r}"
            for m in group.members
        ]
        head = f"describe {_code(group)} {group.group_state} {group.protocol_type!r}/{group.protocol_data!r}"
        return f"{head} [{'; '.join(members)}]" + (f" {group.error_message}" if group.error_message else "")

    def _offsets(self, message: Any, version: int) -> Iterator[str]:
        groups = message.groups if version >= 8 else [message]
        for group in groups:
            name = group.group_id if version >= 8 else "-"
            answers = [
                f"{self._topic_name(t)}:{p.partition_index}={p.committed_offset}"
                + (f"({p.metadata})" if p.metadata else "")
                + (f" {_code(p)}" if p.error_code else "")
                for t in group.topics
                for p in t.partitions
            ]
            yield f"fetched {name} {_code(group)} [{', '.join(answers)}]"

    def _topic_name(self, topic: Any) -> str:
        return str(topic.name or topic.topic_id.rstrip(b"\x01").decode())

    def _record(self, key: bytes, value: bytes | None) -> str:
        if tag_of(key) == GROUP_METADATA_TYPE:
            group_id = decode_group_key(key)
            if value is None:
                return f"group {group_id} gone"
            stored = decode_group_value(value)
            parts = [f"{self.ids.get(m.member_id, 'new')}={m.assignment.decode()!r}" for m in stored.members]
            return f"group {group_id} gen={stored.generation} {stored.protocol_type!r}/{stored.protocol} {parts}"
        where = decode_offset_key(key)
        name = f"offset {where.group} {where.topic}:{where.partition}"
        if value is None:
            return f"{name} gone"
        committed = decode_offset_value(value)
        expiry = "" if committed.expires_ms is None else f" expires in {committed.expires_ms - committed.committed_ms}"
        return f"{name} = {committed.offset}{expiry}"

    def _client(self, name: str) -> Client:
        return self.clients.setdefault(name, Client(name))

    def _id(self, client: Client, override: str | None) -> str:
        """An id as a transcript writes it: `none`, `name#n`, or free text; by default the client's own."""
        if override is None:
            return client.member_id
        if override == "none":
            return ""
        known = {shown: member_id for member_id, shown in self.ids.items()}
        return known.get(override, override)


def _code(message: Any) -> str:
    code = ErrorCode(message.error_code)
    return "ok" if code is ErrorCode.NONE else code.name
