"""A follower at work: fetch, cut what the leader does not have, append, or take a snapshot in chunks.

A fetch from an offset tells the leader that everything below is safe, so it leaves only when the log is synced.
"""

from __future__ import annotations

from penstock.core.base.errors import ErrorCode
from penstock.core.raft import requests
from penstock.core.raft.decisions import Contradiction, Install, Truncate, WriteChunk
from penstock.core.raft.ids import UNKNOWN_OFFSET, Destination, LogEnd, SnapshotId
from penstock.core.raft.joining import join
from penstock.core.raft.member import Member
from penstock.core.raft.rebuilding import PROBED_OFFSET
from penstock.core.raft.roles import Follower, SnapshotFetch
from penstock.core.raft.snapshots import truncation_offset
from penstock.core.raft.steering import settle_fetched
from penstock.core.records import checksum
from penstock.core.records.batch import iterate_headers
from penstock.core.records.errors import CorruptBatch
from penstock.core.wire.api.fetch import FetchRequest, FetchResponse, PartitionData
from penstock.core.wire.api.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse, ResponsePartitionSnapshot


class Following:
    """What a follower, and a replica that looks for a leader, does."""

    def __init__(self, member: Member) -> None:
        self._member = member

    # What is due

    def poll(self, role: Follower, now_ms: int) -> bool:
        member = self._member
        if not role.is_counting and self._is_safe_to_fetch():
            role.is_counting = True
            role.deadline_ms = member.fetch_deadline(now_ms)
        if member.may_run and role.is_counting and now_ms >= role.deadline_ms:
            member.become_prospective(now_ms)
            return True
        if not join(member, role, now_ms):
            self._fetch_from_leader(role, now_ms)
        return False

    def _fetch_from_leader(self, role: Follower, now_ms: int) -> None:
        """Fetch, or ask around while the leader does not answer: it may lead no longer."""
        member, peers = self._member, self._member.peers
        leader = member.destination(role.leader_id, role.leader_endpoints)
        if leader is None or peers.is_resting(leader, now_ms):
            self.fetch_from_anyone(now_ms)
        elif peers.has_timed_out(leader, now_ms):
            peers.forget(leader)
            self.fetch_from_anyone(now_ms)
        elif self._is_safe_to_fetch() and not peers.is_anyone_awaited(now_ms):
            member.send(leader, self._next_request(role), now_ms)

    def _next_request(self, role: Follower) -> FetchRequest | FetchSnapshotRequest:
        member = self._member
        if role.snapshot is not None:
            return requests.fetch_snapshot(member, role.snapshot)
        rebuilding = member.rebuilding
        if rebuilding is not None and not rebuilding.is_probed(member.epoch):
            return requests.probe(member)
        return requests.fetch(member)

    def fetch_from_anyone(self, now_ms: int) -> None:
        """Whoever does not lead answers with whom it takes for the leader."""
        member = self._member
        if self._is_safe_to_fetch() and (to := member.peers.ready_bootstrap(self._known(), now_ms)) is not None:
            member.send(to, requests.fetch(member), now_ms)

    def _known(self) -> list[Destination]:
        """The voters that the log names: whoever was removed may have been told of no others, and those that the
        settings tell of may all be gone by now."""
        member, history = self._member, self._member.history
        if not history.is_dynamic:
            return []
        ids = history.last.ids - {member.local.key.id}
        return [to for each in sorted(ids) if (to := member.destination(each)) is not None]

    def _is_safe_to_fetch(self) -> bool:
        """Whoever is asked counts everything below the offset that we ask from."""
        return self._member.is_synced

    def on_leader_gone(self, now_ms: int) -> None:
        """Run soon, and let others run, instead of waiting for a timeout; not all at once, or they split the votes."""
        role = self._member.role
        if isinstance(role, Follower):
            role.has_fetched = False
            role.is_counting = True
            role.deadline_ms = min(role.deadline_ms, now_ms + self._member.soon_ms())

    def on_stall(self, role: Follower, until_ms: int) -> None:
        """This replica itself was away until now. What the leader has said meanwhile is read first."""
        role.deadline_ms = max(role.deadline_ms, until_ms)

    # Replies to Fetch

    def on_fetch(self, request: FetchRequest, response: FetchResponse, now_ms: int) -> bool:
        """Take what the leader gave; whether the reply was in order."""
        member = self._member
        if response.error_code or len(response.responses) != 1 or len(response.responses[0].partitions) != 1:
            return False
        partition = response.responses[0].partitions[0]
        outcome = settle_fetched(member, response, partition, now_ms)
        if outcome is not None:
            return outcome
        role = member.role
        if partition.error_code != ErrorCode.NONE or not isinstance(role, Follower):
            return False
        asked = request.topics[0].partitions[0]
        if asked.fetch_offset == PROBED_OFFSET:
            return self._take_probe(role, partition, now_ms)
        if LogEnd(asked.last_fetched_epoch, asked.fetch_offset) != member.log_end:
            return True
        return self._take(role, partition, now_ms)

    def _take_probe(self, role: Follower, partition: PartitionData, now_ms: int) -> bool:
        """The leader has told where its log ends."""
        rebuilding, told = self._member.rebuilding, partition.diverging_epoch
        if rebuilding is None or told is None or told.epoch != self._member.epoch:
            return False
        rebuilding.target = LogEnd(told.epoch, told.end_offset)
        self._heard(role, now_ms)
        return True

    def _take(self, role: Follower, partition: PartitionData, now_ms: int) -> bool:
        diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
        in_order = True
        if diverging is not None and diverging.epoch >= 0:
            self._truncate(LogEnd(diverging.epoch, diverging.end_offset))
        elif snapshot is not None and (snapshot.epoch >= 0 or snapshot.end_offset >= 0):
            # One that ends within what is committed here could only take something away.
            in_order = snapshot.epoch >= 0 and snapshot.end_offset > self._member.high_watermark
            if in_order:
                role.snapshot = SnapshotFetch(SnapshotId(snapshot.end_offset, snapshot.epoch))
        else:
            in_order = self._append(partition, now_ms)
            if partition.high_watermark != UNKNOWN_OFFSET:
                self._member.leader_high_watermark = partition.high_watermark
                self._member.commit(partition.high_watermark)
        if in_order:
            self._heard(role, now_ms)
        return in_order

    def _heard(self, role: Follower, now_ms: int) -> None:
        role.is_counting = False
        role.has_fetched = True

    def _truncate(self, leader_end: LogEnd) -> None:
        member = self._member
        offset = truncation_offset(member.log, member.snapshots, member.last_epoch, leader_end)
        if offset < member.high_watermark:
            raise Contradiction(f"the leader has {leader_end}, but {member.high_watermark} are committed here")
        member.history.truncate(offset)
        member.out.store(Truncate(offset))

    def _append(self, partition: PartitionData, now_ms: int) -> bool:
        """Append each whole batch that continues the log; whether all of them did, and were taken."""
        member, records = self._member, partition.records
        if not records:
            return True
        data = memoryview(_copy_of(records))
        try:
            for position, header in iterate_headers(data, partial_tail=True):
                continues = header.base_offset == member.log.end_offset
                in_epoch = member.last_epoch <= header.leader_epoch <= member.epoch
                if not (continues and in_epoch and checksum.is_valid(data, position, header)):
                    return False
                if member.log.is_blocked:
                    # A full disk may have room again by the time it is fetched once more.
                    return False
                batch = data[position : position + header.size]
                member.log.append(batch, header, header.leader_epoch, now_ms)
                if header.is_control:
                    member.history.fold(batch)
        except CorruptBatch:
            return False
        return True

    # Replies to FetchSnapshot

    def on_fetch_snapshot(self, response: FetchSnapshotResponse, now_ms: int) -> bool:
        member = self._member
        if response.error_code or len(response.topics) != 1 or len(response.topics[0].partitions) != 1:
            return False
        partition = response.topics[0].partitions[0]
        outcome = settle_fetched(member, response, partition, now_ms)
        if outcome is not None:
            return outcome
        role = member.role
        if not isinstance(role, Follower) or role.snapshot is None:
            return False
        if partition.error_code == ErrorCode.SNAPSHOT_NOT_FOUND:
            # The leader has a newer one by now; the next fetch tells which.
            role.snapshot = None
            self._heard(role, now_ms)
            return True
        if partition.error_code != ErrorCode.NONE or not self._take_chunk(role, role.snapshot, partition):
            role.snapshot = None
            return False
        self._heard(role, now_ms)
        return True

    def _take_chunk(self, role: Follower, snapshot: SnapshotFetch, partition: ResponsePartitionSnapshot) -> bool:
        """Take the chunk that was asked for, and install the snapshot with the last one."""
        chunk = _copy_of(partition.unaligned_records or b"")
        sent = SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
        after = snapshot.size_bytes + len(chunk)
        if sent != snapshot.id or partition.position != snapshot.size_bytes or not snapshot.size_bytes < after:
            return False
        if after > partition.size:
            return False
        self._member.out.store(WriteChunk(snapshot.id, snapshot.size_bytes, chunk))
        snapshot.size_bytes = after
        if after == partition.size:
            role.snapshot = None
            self._member.out.store(Install(snapshot.id, after))
        return True


def _copy_of(records: object) -> bytearray:
    """Records that came from a peer are a view of the buffer that they arrived in, which they outlive here."""
    assert isinstance(records, bytes | bytearray | memoryview), "a reply was decoded from bytes"
    return bytearray(records)
