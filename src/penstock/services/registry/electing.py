"""Who of several registries writes: a member of a group, by the protocol that Confluent's registries use for it.

Each one joins the group with its address; the group's leader names the one that is to write, the one that has been
doing it if there is one, else the first by its address; the coordinator tells everybody. So registries of both makes
can stand side by side while one replaces the other.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import ClientError, check
from penstock.core.base.errors import ErrorCode, PenstockError
from penstock.core.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from penstock.core.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from penstock.core.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from penstock.core.wire.api.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

PROTOCOL_TYPE: Final = "sr"
PROTOCOL: Final = "v0"
SESSION_MS: Final = 10_000
REBALANCE_MS: Final = 60_000
HEARTBEAT_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 0.5
NOBODY: Final = ""
log = logging.getLogger("penstock.registry")


class Identity(NamedTuple):
    """Where a registry is reached by the others."""

    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def members(self, is_leader: bool) -> dict[str, Any]:
        return {
            "version": 1,
            "host": self.host,
            "port": self.port,
            "master_eligibility": True,
            "scheme": self.scheme,
            "leader": is_leader,
        }


def identity_of(members: Any) -> Identity | None:
    found = members if isinstance(members, dict) else {}
    scheme, host, port = found.get("scheme") or "http", found.get("host"), found.get("port")
    known = isinstance(scheme, str) and isinstance(host, str) and isinstance(port, int)
    return Identity(str(scheme), str(host), int(port or 0)) if known else None


def choose(members: list[tuple[str, dict[str, Any]]]) -> tuple[str, dict[str, Any]] | None:
    """Of members and what they say of themselves, the one that is to write."""
    known = [(id, said) for id, said in members if said.get("master_eligibility") and identity_of(said) is not None]
    before = [each for each in known if each[1].get("leader")]
    found = before if len(before) == 1 else sorted(known, key=lambda each: str(identity_of(each[1])))
    return found[0] if found else None


class Election:
    """A thread that is a member of the group as long as it runs, and says who leads when that changes."""

    def __init__(
        self,
        connect: Callable[[], Client],
        group: str,
        own: Identity,
        on_leader: Callable[[Identity | None, bool], None],
    ) -> None:
        """`on_leader` gets the leader, if there is one, and whether that is we."""
        self._connect = connect
        self._group = group
        self._own = own
        self._on_leader = on_leader
        self._member, self._generation = NOBODY, -1
        self._leads = False
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="election", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Leaves the group, so that another one writes at once."""
        self._is_stopped.set()
        self._thread.join(timeout=2 * HEARTBEAT_SECONDS)

    def _run(self) -> None:
        while not self._is_stopped.is_set():
            try:
                with self._connect() as client:
                    self._belong(client)
            except PenstockError as failure:
                self._tell(None, False)
                log.warning("group %s: %s", self._group, failure)
                self._is_stopped.wait(PAUSE_SECONDS)

    def _belong(self, client: Client) -> None:
        heard_at = time.monotonic()
        while not self._is_stopped.is_set():
            try:
                if self._generation < 0:
                    self._join(client)
                else:
                    self._beat(client)
                heard_at = time.monotonic()
            except ClientError as failure:
                # Before the coordinator takes us for gone, we do so ourselves.
                is_late = time.monotonic() - heard_at > SESSION_MS / 2000
                if failure.code == ErrorCode.UNKNOWN_MEMBER_ID:
                    self._member = NOBODY
                elif failure.code not in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
                    if not failure.is_transient or is_late:
                        self._generation = -1
                        raise
                    self._is_stopped.wait(PAUSE_SECONDS)
                    client.forget_coordinators()
                    continue
                self._generation = -1
                continue
            self._is_stopped.wait(HEARTBEAT_SECONDS)
        self._leave(client)

    def _join(self, client: Client) -> None:
        said = json.dumps(self._own.members(self._leads)).encode()
        request = JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self._member,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=PROTOCOL, metadata=said)],
        )
        answer = client.ask(request, JoinGroupResponse, node=client.coordinator(self._group))
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member = answer.member_id
            self._join(client)
            return
        check(answer.error_code, f"joining group {self._group}")
        self._member = answer.member_id
        assignments = self._assign(answer.members) if answer.leader == answer.member_id else []
        sync = SyncGroupRequest(
            group_id=self._group,
            generation_id=answer.generation_id,
            member_id=self._member,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=assignments,
        )
        synced = client.ask(sync, SyncGroupResponse, node=client.coordinator(self._group))
        check(synced.error_code, f"group {self._group}")
        self._generation = answer.generation_id
        self._learn(synced.assignment)

    def _assign(self, members: list[JoinGroupResponseMember]) -> list[SyncGroupRequestAssignment]:
        chosen = choose([(each.member_id, _json(each.metadata)) for each in members])
        found = {"version": 1, "error": 0} | ({"master": chosen[0], "master_identity": chosen[1]} if chosen else {})
        told = json.dumps(found).encode()
        return [SyncGroupRequestAssignment(member_id=each.member_id, assignment=told) for each in members]

    def _learn(self, assignment: bytes) -> None:
        told = _json(assignment)
        self._tell(identity_of(told.get("master_identity")), told.get("master") == self._member)

    def _beat(self, client: Client) -> None:
        request = HeartbeatRequest(group_id=self._group, generation_id=self._generation, member_id=self._member)
        answer = client.ask(request, HeartbeatResponse, node=client.coordinator(self._group))
        check(answer.error_code, f"group {self._group}")

    def _leave(self, client: Client) -> None:
        member = MemberIdentity(member_id=self._member)
        request = LeaveGroupRequest(group_id=self._group, members=[member])
        try:
            client.ask(request, LeaveGroupResponse, node=client.coordinator(self._group))
        except ClientError as failure:
            log.info("leaving group %s: %s", self._group, failure)

    def _tell(self, leader: Identity | None, is_own: bool) -> None:
        self._leads = is_own
        self._on_leader(leader, is_own)


def _json(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(bytes(data))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
