"""All that an image says, as a short text: equal images give equal texts, however they came about."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

from penstock.core.metadata.brokers import BrokerImage, ControllerImage
from penstock.core.metadata.image import Image, TopicImage


def digest_of(image: Image) -> str:
    """Everything but its offset."""
    brokers = [_alike(image.brokers[number]) for number in sorted(image.brokers)]
    parts = (
        [_describe(image.topics.get(name)) for name in sorted(image.topics)],
        [(key, sorted((image.configs.get(key) or {}).items())) for key in sorted(image.configs)],
        brokers,
        sorted(image.features.items()),
        [_alike(image.controllers[number]) for number in sorted(image.controllers)],
        image.next_producer_id,
        image.unfinished,
    )
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _alike(member: BrokerImage | ControllerImage) -> object:
    """Features come in any order; a broker knows by which offset its registration was heard of, not made; a protocol
    is a number, whether it has a name here or not."""
    features = dict(sorted(member.features.items()))
    endpoints = tuple(point._replace(protocol=int(point.protocol)) for point in member.endpoints)
    if isinstance(member, BrokerImage):
        return replace(member, features=features, endpoints=endpoints, registered_at=-1)
    return replace(member, features=features, endpoints=endpoints)


def _describe(topic: TopicImage | None) -> object:
    assert topic is not None
    return topic.name, topic.id, [topic.partition(index) for index in range(len(topic))]
