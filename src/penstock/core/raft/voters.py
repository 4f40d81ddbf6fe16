"""Voters: an immutable set of them, and the record that carries it through the log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock.core.base.endpoints import Endpoint
from penstock.core.raft.ids import Destination, Endpoints, ReplicaKey, address
from penstock.core.wire.fields import ZERO_UUID
from penstock.core.wire.stored import quorum as stored


class Voter(NamedTuple):
    """A voter, where it listens, and which kraft.version levels it can live with."""

    key: ReplicaKey
    endpoints: Endpoints
    kraft_versions: tuple[int, int] = (0, 0)

    def is_replica(self, key: ReplicaKey) -> bool:
        """Whether a replica is this voter; a voter of unknown directory is known by its id alone."""
        return key.id == self.key.id and self.key.directory_id in (ZERO_UUID, key.directory_id)

    def supports(self, version: int) -> bool:
        return self.kraft_versions[0] <= version <= self.kraft_versions[1]


class VoterSet:
    """The voters by id. Changes give another set, or None where they do not apply."""

    __slots__ = ("_by_id", "ids")

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        self._by_id = {voter.key.id: voter for voter in sorted(voters)}
        self.ids = frozenset(self._by_id)

    def __iter__(self) -> Iterator[Voter]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self._by_id == other._by_id

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"VoterSet({', '.join(str(voter.key.id) for voter in self)})"

    @property
    def majority(self) -> int:
        return len(self) // 2 + 1

    def get(self, voter_id: int) -> Voter | None:
        return self._by_id.get(voter_id)

    def is_voter(self, key: ReplicaKey) -> bool:
        voter = self._by_id.get(key.id)
        return voter is not None and voter.is_replica(key)

    def endpoints_of(self, voter_id: int) -> Endpoints:
        voter = self._by_id.get(voter_id)
        return () if voter is None else voter.endpoints

    def destination(self, voter_id: int, listener: str) -> Destination | None:
        endpoint = address(self.endpoints_of(voter_id), listener)
        return None if endpoint is None else Destination(voter_id, endpoint.host, endpoint.port)

    def with_added(self, voter: Voter) -> VoterSet | None:
        return None if voter.key.id in self.ids else VoterSet((*self, voter))

    def with_removed(self, key: ReplicaKey) -> VoterSet | None:
        """Without a voter; the last one stays, because nobody could ever add another."""
        voter = self._by_id.get(key.id)
        if voter is None or voter.key != key or len(self) == 1:
            return None
        return VoterSet(other for other in self if other is not voter)

    def with_updated(self, voter: Voter, *, any_directory: bool = False) -> VoterSet | None:
        old = self._by_id.get(voter.key.id)
        if old is None or not (any_directory or old.is_replica(voter.key)):
            return None
        return VoterSet(voter if other is old else other for other in self)

    def needs_update(self, voter: Voter) -> bool:
        old = self._by_id.get(voter.key.id)
        return old is not None and old.is_replica(voter.key) and old != voter

    def to_record(self) -> stored.VotersRecord:
        return stored.VotersRecord(version=0, voters=[_to_record(voter) for voter in self])

    @classmethod
    def from_record(cls, record: stored.VotersRecord) -> VoterSet:
        return cls(_from_record(voter) for voter in record.voters)


def static_voters(listener: str, addresses: dict[int, tuple[str, int]]) -> VoterSet:
    """The voters that `controller.quorum.voters` names."""
    return VoterSet(
        Voter(ReplicaKey(voter_id), (Endpoint(listener, host, port),)) for voter_id, (host, port) in addresses.items()
    )


def _to_record(voter: Voter) -> stored.VotersRecordVoter:
    lowest, highest = voter.kraft_versions
    return stored.VotersRecordVoter(
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        endpoints=[stored.Endpoint(name=name, host=host, port=port) for name, host, port, _ in voter.endpoints],
        k_raft_version_feature=stored.KRaftVersionFeature(min_supported_version=lowest, max_supported_version=highest),
    )


def _from_record(record: stored.VotersRecordVoter) -> Voter:
    feature = record.k_raft_version_feature
    return Voter(
        ReplicaKey(record.voter_id, record.voter_directory_id),
        tuple(Endpoint(endpoint.name, endpoint.host, endpoint.port) for endpoint in record.endpoints),
        (feature.min_supported_version, feature.max_supported_version),
    )
