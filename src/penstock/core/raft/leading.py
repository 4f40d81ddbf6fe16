"""A leader at work: the records that open its epoch, appends, the high watermark, and keeping the voters with it."""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.raft import answers, requests
from penstock.core.raft.leader import LeaderState
from penstock.core.raft.member import Member
from penstock.core.records.batch import read_header
from penstock.core.records.build import NewRecord, build_batch
from penstock.core.records.control import ControlType, encode_key
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.quorum import KRaftVersionRecord, LeaderChangeMessage, LeaderChangeMessageVoter


class Leading:
    """What a leader does beyond answering."""

    def __init__(self, member: Member) -> None:
        self._member = member

    def begin(self, now_ms: int) -> None:
        """Open the epoch with a record of it, because only what is of this epoch counts (`LeaderState._advance`)."""
        member = self._member
        leader = member.become_leader(now_ms)
        change = LeaderChangeMessage(
            version=0,
            leader_id=member.local.key.id,
            voters=[LeaderChangeMessageVoter(voter_id=voter.key.id) for voter in member.history.last],
            granting_voters=[LeaderChangeMessageVoter(voter_id=voter_id) for voter_id in leader.granting],
        )
        records = [_control(ControlType.LEADER_CHANGE, change, now_ms)]
        history = member.history
        if history.is_dynamic and (history.last_offset < 0 or history.last.needs_update(member.as_voter)):
            # The first leader moves the voters that the cluster was formatted with into the log.
            voters = history.last.with_updated(member.as_voter)
            assert voters is not None, "a leader is a voter"
            version = KRaftVersionRecord(version=0, k_raft_version=history.kraft_version)
            records.append(_control(ControlType.KRAFT_VERSION, version, now_ms))
            records.append(_control(ControlType.KRAFT_VOTERS, voters.to_record(), now_ms))
        self._append(leader, build_batch(records, control=True), now_ms)

    def append(self, leader: LeaderState, records: list[NewRecord], now_ms: int) -> int:
        """Append records that stay together; gives the offset of the last."""
        return self._append(leader, build_batch(records), now_ms)

    def append_controls(
        self, leader: LeaderState, controls: list[tuple[ControlType, StoredRecord]], now_ms: int
    ) -> int:
        """Append control records in one batch; a voter set among them counts at once."""
        records = [_control(kind, record, now_ms) for kind, record in controls]
        return self._append(leader, build_batch(records, control=True), now_ms)

    def _append(self, leader: LeaderState, batch: bytearray, now_ms: int) -> int:
        member = self._member
        header = read_header(batch)
        base_offset = member.log.append(batch, header, member.epoch, now_ms)
        if header.is_control:
            member.history.fold(batch)
            leader.adopt(member.history.last)
        self.synced(leader)
        return base_offset + header.last_offset_delta

    def lost(self, leader: LeaderState) -> None:
        """The end of the log was never written: a change of the voters may be among it, or the record that opens this
        epoch, without which nothing can be counted. A disk without room for one record has none for the next: another
        leads, if there is another."""
        member, end_offset = self._member, self._member.log.end_offset
        leader.adopt(member.history.last)
        change = leader.change
        if change is not None and change.offset is not None and change.offset >= end_offset:
            leader.change = None
            if change.ticket is not None:
                member.answer(change.ticket, answers.voter_change(change.request, ErrorCode.KAFKA_STORAGE_ERROR))
        if leader.epoch_start_offset >= end_offset or not member.is_only_voter:
            leader.resign_requested = True

    def synced(self, leader: LeaderState) -> None:
        """Count what this log has synced, which alone commits where there is one voter."""
        if leader.local_synced(self._member.log.synced_offset):
            self.advanced(leader)

    def advanced(self, leader: LeaderState) -> None:
        """The high watermark has moved. The first time it covers all earlier epochs: from then on the owner leads."""
        member = self._member
        member.commit(leader.high_watermark)
        leader.is_announced = True
        if member.history.last_offset < leader.high_watermark and not member.is_voter:
            leader.resign_requested = True

    def poll(self, leader: LeaderState, now_ms: int) -> bool:
        """What is due by now; whether the role has changed."""
        if leader.resign_requested or leader.is_deserted(now_ms):
            self._member.become_resigned(now_ms)
            return True
        if now_ms >= leader.announce_ms:
            self._announce(leader, now_ms)
        return False

    def _announce(self, leader: LeaderState, now_ms: int) -> None:
        """Tell voters that do not fetch who leads; they may have missed it."""
        member = self._member
        leader.announce_ms = now_ms + leader.announce_interval_ms
        leader.forget_silent_observers(now_ms)
        for key in leader.silent_voters(now_ms):
            to = member.destination(key.id)
            if to is not None and member.peers.is_ready(to, now_ms):
                member.send(to, requests.begin_epoch(member, key), now_ms)


def _control(kind: ControlType, record: StoredRecord, now_ms: int) -> NewRecord:
    return encode_key(kind), record.encode(0), (), now_ms
