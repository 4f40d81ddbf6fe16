"""Who leads instead: whoever asks the wrong broker is told the right one with the refusal, and need not ask for the
metadata first (KIP-951)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from penstock.core.base.endpoints import Endpoint
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.metadata.image import Image, TopicImage
from penstock.core.wire.api import fetch, produce

PRODUCE_HINTS_SINCE: Final = 10
FETCH_HINTS_SINCE: Final = 16
"""The versions that have room for them."""

_OF_FETCHES: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def hint_producer(image: Image, listener: str, response: produce.ProduceResponse) -> None:
    """Name the leaders of the partitions that a producer sought here."""
    leaders = set()
    for asked in response.responses:
        topic = image.topic(asked.name) if asked.name else image.topic_by_id(asked.topic_id)
        for result in asked.partition_responses:
            leader = _leader_of(topic, result.index) if result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER else None
            if leader is not None:
                result.current_leader = produce.LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])
                leaders.add(leader[0])
    response.node_endpoints = [
        produce.NodeEndpoint(node_id=broker.id, host=point.host, port=point.port, rack=broker.rack)
        for broker, point in _alive(image, listener, leaders)
    ]


def hint_reader(image: Image, listener: str, response: fetch.FetchResponse) -> None:
    """The same for a reader; one who knows an older leader only is told of the next as well."""
    leaders = set()
    for asked in response.responses:
        topic = image.topic_by_id(asked.topic_id)
        for result in asked.partitions:
            leader = _leader_of(topic, result.partition_index) if result.error_code in _OF_FETCHES else None
            if leader is not None:
                result.current_leader = fetch.LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])
                leaders.add(leader[0])
    response.node_endpoints = [
        fetch.NodeEndpoint(node_id=broker.id, host=point.host, port=point.port, rack=broker.rack)
        for broker, point in _alive(image, listener, leaders)
    ]


def hint_sharer(image: Image, listener: str, response: Any, api: Any) -> None:
    """The same for a member of a share group, who fetches or acknowledges: `api` is the module of the response. Who
    leads is named also where only the acknowledgement failed for that."""
    leaders = set()
    for asked in response.responses:
        topic = image.topic_by_id(asked.topic_id)
        for result in asked.partitions:
            codes = (result.error_code, getattr(result, "acknowledge_error_code", 0))
            leader = _leader_of(topic, result.partition_index) if set(codes) & set(_OF_FETCHES) else None
            if leader is not None:
                result.current_leader = api.LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])
                leaders.add(leader[0])
    response.node_endpoints = [
        api.NodeEndpoint(node_id=broker.id, host=point.host, port=point.port, rack=broker.rack)
        for broker, point in _alive(image, listener, leaders)
    ]


def _leader_of(topic: TopicImage | None, index: int) -> tuple[int, int] | None:
    found = None if topic is None else topic.find(index)
    return None if found is None else (found.leader, found.leader_epoch)


def _alive(image: Image, listener: str, leaders: Iterable[int]) -> list[tuple[BrokerImage, Endpoint]]:
    """Where those of them are that can be reached as their reader came here."""
    found = [image.brokers[leader] for leader in sorted(leaders) if leader in image.brokers]
    points = [(broker, broker.endpoint(listener)) for broker in found if not broker.fenced]
    return [(broker, point) for broker, point in points if point is not None]
