"""All share groups as this node serves them: the sessions of their members, and the share partitions that it leads.

A ShareFetch reads through its session, which may bring acknowledgements; these are stored first, but records need not
wait for them. A session ends with its connection, or when its member says so, and what that member has comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.serving.access import Operation, Resource
from penstock.core.node.serving.api import PENDING, Answer
from penstock.core.node.serving.audited import refusal_of
from penstock.core.node.serving.gates import ALLOW_ALL, UNLIMITED
from penstock.core.node.serving.leader_hints import hint_sharer
from penstock.core.node.serving.slots import Slot
from penstock.core.node.sharing.acknowledging import RENEWS_SINCE, Codes, Gathering, makes_sense, said_in
from penstock.core.node.sharing.counts import ShareCounts
from penstock.core.node.sharing.group_settings import AllGroups
from penstock.core.node.sharing.led_share import LedShare
from penstock.core.node.sharing.persister import Persister
from penstock.core.node.sharing.ports import SharingHost
from penstock.core.node.sharing.share_fetch import ShareFetch
from penstock.core.node.sharing.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, Place, ShareSession, ShareSessions
from penstock.core.partition.partition import Partition
from penstock.core.partition.readers import Reader
from penstock.core.share_state.key import SharePartition as Key
from penstock.core.wire.api import share_acknowledge, share_fetch
from penstock.core.wire.api.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from penstock.core.wire.api.share_fetch import ShareFetchRequest, ShareFetchResponse


class Sharing:
    """Sessions, and share partitions by group and place."""

    def __init__(self, node: SharingHost) -> None:
        self._node = node
        self._groups = AllGroups(node)
        self._persister = Persister(node)
        self.sessions = ShareSessions()
        self.counts = ShareCounts()
        self._shares: dict[str, dict[Place, LedShare]] = {}

    @property
    def share_count(self) -> int:
        """Share partitions that are led here."""
        return sum(map(len, self._shares.values()))

    @property
    def records_in_flight(self) -> int:
        machines = (share.machine for shares in self._shares.values() for share in shares.values())
        return sum(machine.in_flight for machine in machines if machine is not None)

    # Fetching

    def fetch(self, request: ShareFetchRequest, slot: Slot) -> Answer:
        session = self._session(request, slot)
        renews = request.is_renew_ack
        places = [] if renews or request.share_session_epoch == FINAL_EPOCH else session.in_turn()
        fetch = ShareFetch(self._node, self, request, slot, places, self._bytes_max(request, slot))
        slot.parked = fetch
        said = {place: words for place, words in said_in(request.topics).items() if words}
        self._acknowledge(slot, session.member_id, session.group_id, said, renews, fetch.acknowledged)
        if not fetch.is_over:
            fetch.begin()
        if request.share_session_epoch == FINAL_EPOCH:
            self._end(session)
        return PENDING

    def _session(self, request: ShareFetchRequest, slot: Slot) -> ShareSession:
        group_id, member_id = request.group_id or "", request.member_id or ""
        if request.share_session_epoch != INITIAL_EPOCH:
            session = self.sessions.known(group_id, member_id, request.share_session_epoch)
        elif any(each.acknowledgement_batches for topic in request.topics for each in topic.partitions):
            raise ApiError(ErrorCode.INVALID_REQUEST, "a new session has nothing to acknowledge")
        else:
            sessions_max = self._node.settings["group.share.max.share.sessions"]
            session = self.sessions.open(group_id, member_id, slot.line, sessions_max)
        if request.share_session_epoch != FINAL_EPOCH:
            session.update(request)
        return session

    def _bytes_max(self, request: ShareFetchRequest, slot: Slot) -> int:
        limit, quotas = min(request.max_bytes, self._node.limits.fetch_bytes_max), self._node.gates.quotas
        return limit if quotas is UNLIMITED else quotas.fetch_bytes_max(slot.context, limit)

    def answer(self, fetch: ShareFetch) -> None:
        """Tell what was found, what went wrong, and what became of acknowledgements."""
        by_topic: dict[bytes, list[share_fetch.PartitionData]] = {}
        for place in {**dict.fromkeys(fetch.places), **(fetch.codes or {})}:
            if (told := self._told(fetch, place)) is not None:
                by_topic.setdefault(place.topic_id, []).append(told)
        response = ShareFetchResponse(
            acquisition_lock_timeout_ms=self.lock_ms(fetch.group_id),
            responses=[
                share_fetch.ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in by_topic.items()
            ],
        )
        self._count_bytes(fetch)
        slot = fetch.slot
        slot.parked = None
        hint_sharer(self._node.image, slot.context.listener, response, share_fetch)
        slot.reply(response)

    def _told(self, fetch: ShareFetch, place: Place) -> share_fetch.PartitionData | None:
        """A partition of which there is nothing to say is not named."""
        found, code = fetch.found.get(place), fetch.errors.get(place, ErrorCode.NONE)
        acknowledged = (fetch.codes or {}).get(place)
        if found is None and code is ErrorCode.NONE and acknowledged is None:
            return None
        for each in (code, acknowledged or ErrorCode.NONE):
            if each is not ErrorCode.NONE:
                self._node.error("ShareFetch", each)
        return share_fetch.PartitionData(
            partition_index=place.partition,
            error_code=code,
            acknowledge_error_code=acknowledged or ErrorCode.NONE,
            records=b"" if found is None else found.piece.around(found.acquired),
            acquired_records=[
                share_fetch.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
                for first, last, count in (found.acquired if found is not None else ())
            ],
        )

    def _count_bytes(self, fetch: ShareFetch) -> None:
        size = 0
        for place, found in fetch.found.items():
            length = found.piece.around(found.acquired).length
            size += length
            partition = self._local(place)
            if partition is not None:
                partition.traffic.bytes_out += length
        quotas = self._node.gates.quotas
        if quotas is not UNLIMITED and (rest_ms := quotas.fetched_ms(fetch.slot.context, size)):
            fetch.slot.throttle(rest_ms)

    # Acknowledging

    def acknowledge(self, request: ShareAcknowledgeRequest, slot: Slot) -> Answer:
        group_id, member_id = request.group_id or "", request.member_id or ""
        if request.share_session_epoch == INITIAL_EPOCH:
            raise ApiError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session = self.sessions.known(group_id, member_id, request.share_session_epoch)
        said = said_in(request.topics)
        told = partial(self._acknowledged, slot, group_id)
        self._acknowledge(slot, member_id, group_id, said, request.is_renew_ack, told)
        if request.share_session_epoch == FINAL_EPOCH:
            self._end(session)
        return PENDING

    def _acknowledge(
        self,
        slot: Slot,
        member_id: str,
        group_id: str,
        said: dict[Place, Any],
        renews: bool,
        then: Callable[[Codes], None],
    ) -> None:
        """`then` comes once each partition's words are stored, or refused."""
        if not said:
            then({})
            return
        gathering = Gathering(said, then)
        for place, words in said.items():
            heard = gathering.of(place)
            try:
                self._check_topic(slot, place)
                if not makes_sense(words, knows_renew=slot.version >= RENEWS_SINCE, renews=renews):
                    raise ApiError(ErrorCode.INVALID_REQUEST)
                share = self._shares.get(group_id, {}).get(place) if words else None
                if share is not None:
                    share.acknowledge(member_id, words, heard)
                elif words:
                    self._leading(place)
                    raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                else:
                    heard(ErrorCode.NONE)
            except ApiError as error:
                heard(error.code)

    def _acknowledged(self, slot: Slot, group_id: str, codes: Codes) -> None:
        by_topic: dict[bytes, list[share_acknowledge.PartitionData]] = {}
        for place, code in codes.items():
            if code is not ErrorCode.NONE:
                self._node.error("ShareAcknowledge", code)
            told = share_acknowledge.PartitionData(partition_index=place.partition, error_code=code)
            by_topic.setdefault(place.topic_id, []).append(told)
        response = ShareAcknowledgeResponse(
            acquisition_lock_timeout_ms=self.lock_ms(group_id),
            responses=[
                share_acknowledge.ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in by_topic.items()
            ],
        )
        hint_sharer(self._node.image, slot.context.listener, response, share_acknowledge)
        slot.reply(response)

    # Members that go

    def disconnected(self, line: object) -> None:
        for session in self.sessions.over(line):
            self._end(session)

    def cancel(self, slot: Slot) -> None:
        """The connection of a request that waits has closed."""
        if isinstance(slot.parked, ShareFetch):
            slot.parked.cancel()

    def _end(self, session: ShareSession) -> None:
        """What the member has comes back. Of a group without members here nothing is kept but what is stored: its
        offsets may be changed."""
        self.sessions.close(session)
        shares = self._shares.get(session.group_id, {})
        for share in list(shares.values()):
            share.release(session.member_id)
        self._forget_group(session.group_id)

    def _forget_group(self, group_id: str) -> None:
        if self.sessions.has_members(group_id):
            return
        for share in list(self._shares.get(group_id, {}).values()):
            if share.is_quiet:
                share.end(ErrorCode.NONE)
            else:
                share.when_quiet = partial(self._forget_group, group_id)

    # What is led here

    def share_of(self, group_id: str, place: Place) -> LedShare:
        share = self._shares.get(group_id, {}).get(place)
        if share is not None and not share.partition.removed:
            return share
        partition = self._leading(place)
        partition.check_settled()
        key = Key(group_id, place.topic_id, place.partition)
        share = LedShare(self._node, self._persister, self._groups, self.counts, key, partition, self._ended)
        self._shares.setdefault(group_id, {})[place] = share
        return share

    def _ended(self, share: LedShare) -> None:
        group_id, place = share.key.group_id, share.place
        shares = self._shares.get(group_id, {})
        if shares.get(place) is share:
            del shares[place]
            if not shares:
                del self._shares[group_id]

    def _local(self, place: Place) -> Partition | None:
        topic = self._node.image.topic_by_id(place.topic_id)
        return None if topic is None else self._node.replicas.get(topic.name, place.partition)

    def _leading(self, place: Place) -> Partition:
        """The partition, if this node leads it, or the error that sends a member elsewhere."""
        topic = self._node.image.topic_by_id(place.topic_id)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = self._node.replicas.get(topic.name, place.partition)
        if partition is None or partition.topic_id != topic.id:
            raise ApiError(self._node.replicas.refusal(self._node.image, topic.name, place.partition))
        if not partition.leads:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return partition

    # Rights and settings

    def check_right(self, fetch: ShareFetch, place: Place) -> None:
        self._check_topic(fetch.slot, place)

    def _check_topic(self, slot: Slot, place: Place) -> None:
        name, node = self._node.image.names.get(place.topic_id), self._node
        if name is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        authorizer = node.gates.authorizer
        if authorizer is ALLOW_ALL or authorizer.allows(slot.context, Operation.READ, Resource.TOPIC, name):
            return
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if node.audits:
            node.audit_refusal(refusal_of(slot.context, slot.api.name, name, code))
        raise ApiError(code)

    def reader_of(self, group_id: str) -> Reader:
        return self._groups.of(group_id).reader

    def lock_ms(self, group_id: str) -> int:
        return self._groups.of(group_id).sharing.lock_ms
