"""Share sessions: the partitions that a member of a group reads here. A session lives as long as its connection."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.wire.api.share_fetch import ShareFetchRequest

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
EPOCH_MAX: Final = 2**31 - 1


class Place(NamedTuple):
    """A partition, as requests name it."""

    topic_id: bytes
    partition: int


class ShareSession:
    """One member's; `line` is what it came over."""

    __slots__ = ("epoch", "group_id", "line", "member_id", "places")

    def __init__(self, group_id: str, member_id: str, line: object) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.line = line
        self.epoch = 1
        self.places: dict[Place, None] = {}

    def update(self, request: ShareFetchRequest) -> None:
        """Take in what a request names, and forget what it has enough of."""
        self.places.update(dict.fromkeys(places_in(request)))
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                self.places.pop(Place(topic.topic_id, index), None)

    def in_turn(self) -> list[Place]:
        """All of them, each time from another one on, so that none is always last when there is room for few."""
        places = list(self.places)
        at = self.epoch % len(places) if places else 0
        return places[at:] + places[:at]


def places_in(request: ShareFetchRequest) -> list[Place]:
    return [Place(topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions]


class ShareSessions:
    """All of a node, by group and member."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], ShareSession] = {}
        self._by_line: dict[object, dict[ShareSession, None]] = {}
        self._members: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def has_members(self, group_id: str) -> bool:
        return group_id in self._members

    def open(self, group_id: str, member_id: str, line: object, sessions_max: int) -> ShareSession:
        """A new session, in the place of the member's last one."""
        if (old := self._sessions.get((group_id, member_id))) is not None:
            self.close(old)
        if len(self._sessions) >= sessions_max:
            raise ApiError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        session = self._sessions[group_id, member_id] = ShareSession(group_id, member_id, line)
        self._by_line.setdefault(line, {})[session] = None
        self._members[group_id] = self._members.get(group_id, 0) + 1
        return session

    def known(self, group_id: str, member_id: str, epoch: int) -> ShareSession:
        """The session that a request goes on with, or ends."""
        session = self._sessions.get((group_id, member_id))
        if session is None:
            raise ApiError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.epoch:
            raise ApiError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session.epoch = 1 if session.epoch == EPOCH_MAX else session.epoch + 1
        return session

    def close(self, session: ShareSession) -> None:
        if self._sessions.get((session.group_id, session.member_id)) is not session:
            return
        del self._sessions[session.group_id, session.member_id]
        self._members[session.group_id] -= 1
        if not self._members[session.group_id]:
            del self._members[session.group_id]
        of_line = self._by_line[session.line]
        del of_line[session]
        if not of_line:
            del self._by_line[session.line]

    def over(self, line: object) -> list[ShareSession]:
        """Those that came over a connection."""
        return list(self._by_line.get(line, ()))
