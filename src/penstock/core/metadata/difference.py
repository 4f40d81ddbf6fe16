"""What differs between two images that no fold connects: one of them came from a snapshot."""

from __future__ import annotations

from penstock.core.metadata.fold import Delta
from penstock.core.metadata.image import Image


def difference(before: Image, after: Image) -> Delta:
    """What a node that has acted on one image must look at to act on another. Topics that both have are all looked at
    again: to find out that nothing is to be done costs a node less than to compare each partition here."""
    delta = Delta(topics=set(after.topics), grown=set(after.topics), is_recorded=False)
    for topic in before.topics.values():
        known = after.topic(topic.name)
        if known is None or known.id != topic.id:
            delta.removed[topic.name] = topic
    for key in {*before.configs, *after.configs}:
        if before.configs.get(key) != after.configs.get(key):
            delta.configs.add(key)
    for broker_id in {*before.brokers, *after.brokers}:
        if before.brokers.get(broker_id) != after.brokers.get(broker_id):
            delta.brokers.add(broker_id)
    return delta
