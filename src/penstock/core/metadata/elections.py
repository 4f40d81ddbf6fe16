"""Elections that somebody asks for, and those the controller holds from time to time.

`leader.imbalance.check.interval.seconds` apart, leadership goes back to the first replicas; partitions without a leader
may take one that lost records, where `unclean.leader.election.enable` allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import partial

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.image import NO_LEADER, Image, TopicImage
from penstock.core.metadata.partition_change import Election, PartitionChange
from penstock.core.metadata.rules import TopicRules, rules_for
from penstock.core.metadata.sweep import Sweep
from penstock.core.wire.api.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import PartitionChangeRecord

ELECTIONS = {0: Election.PREFERRED, 1: Election.UNCLEAN}
"""By the number that a request gives."""


def election_of(request: ElectLeadersRequest) -> Election:
    found = ELECTIONS.get(request.election_type)
    if found is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Election type {request.election_type} is not known.")
    return found


def plan_elections(
    image: Image, settings: BrokerSettings, request: ElectLeadersRequest
) -> tuple[list[StoredRecord], ElectLeadersResponse]:
    """Decide about an ElectLeaders request that names its partitions."""
    assert request.topic_partitions is not None, "a request for all partitions is a sweep"
    election = election_of(request)
    records: list[StoredRecord] = []
    results: list[ReplicaElectionResult] = []
    for wanted in request.topic_partitions:
        topic = image.topic(wanted.topic)
        found = []
        for index in dict.fromkeys(wanted.partitions):
            record, code = _elect(image, settings, topic, index, election)
            if record is not None:
                records.append(record)
            found.append(_result(index, code))
        results.append(ReplicaElectionResult(topic=wanted.topic, partition_result=found))
    return records, ElectLeadersResponse(replica_election_results=results)


def electing_everywhere(
    image: Image, settings: BrokerSettings, request: ElectLeadersRequest
) -> tuple[Sweep, Callable[[], ElectLeadersResponse]]:
    """The sweep of an ElectLeaders request that names no partition, and its answer once that is done.

    Partitions that need no election are not mentioned.
    """
    election = election_of(request)
    results: dict[str, list[PartitionResult]] = {}

    def decide(now: Image, topic: TopicImage, indexes: list[int]) -> list[StoredRecord]:
        records: list[StoredRecord] = []
        for index in indexes:
            record, code = _elect(now, settings, topic, index, election)
            if record is not None:
                records.append(record)
            if code is not ErrorCode.ELECTION_NOT_NEEDED:
                results.setdefault(topic.name, []).append(_result(index, code))
        return records

    def answer() -> ElectLeadersResponse:
        found = [ReplicaElectionResult(topic=name, partition_result=each) for name, each in results.items()]
        return ElectLeadersResponse(replica_election_results=found)

    return Sweep(image, _needing(election), decide), answer


def _needing(election: Election) -> Callable[[TopicImage], list[int]]:
    if election is Election.UNCLEAN:
        return TopicImage.leaderless
    return lambda topic: sorted({*topic.unpreferred(), *topic.leaderless()})


def _result(index: int, code: ErrorCode) -> PartitionResult:
    return PartitionResult(partition_id=index, error_code=code, error_message=None)


def _elect(
    image: Image, settings: BrokerSettings, topic: TopicImage | None, index: int, election: Election
) -> tuple[PartitionChangeRecord | None, ErrorCode]:
    partition = None if topic is None else topic.find(index)
    if topic is None or partition is None:
        return None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    is_unclean = election is Election.UNCLEAN
    is_content = partition.leader != NO_LEADER if is_unclean else partition.has_preferred_leader
    if is_content:
        return None, ErrorCode.ELECTION_NOT_NEEDED
    record = PartitionChange(rules_for(image, settings, topic), partition, election).record(topic.id, index)
    if record is None:
        unavailable = (
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE if is_unclean else ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        )
        return None, unavailable
    return record, ErrorCode.NONE


def balancing(image: Image, settings: BrokerSettings, brokers: Set[int] | None = None) -> Sweep:
    """Give leadership back to the first replicas where they can take it; to those of some brokers, or to all."""
    decide = partial(_hold, settings, Election.PREFERRED, lambda rules: True)

    def find(topic: TopicImage) -> list[int]:
        found = topic.unpreferred()
        return found if brokers is None else [index for index in found if topic.replicas[index][0] in brokers]

    return Sweep(image, find, decide)


def electing_uncleanly(image: Image, settings: BrokerSettings) -> Sweep:
    """Find leaders for partitions that have none, in topics that prefer serving to keeping everything."""
    find = TopicImage.leaderless if image.tally.leaderless else None
    return Sweep(image, find, partial(_hold, settings, Election.UNCLEAN, lambda rules: rules.unclean))


def _hold(
    settings: BrokerSettings,
    election: Election,
    is_wanted: Callable[[TopicRules], bool],
    image: Image,
    topic: TopicImage,
    indexes: list[int],
) -> list[StoredRecord]:
    rules = rules_for(image, settings, topic)
    if not is_wanted(rules):
        return []
    changes = (PartitionChange(rules, topic.partition(index), election).record(topic.id, index) for index in indexes)
    return [record for record in changes if record is not None]
