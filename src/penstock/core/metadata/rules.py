"""What decides about the partitions of a topic, apart from their own state: settings, features, who is alive."""

from __future__ import annotations

from typing import Any

from penstock.core.base.settings import TOPIC_KEYS, BrokerSettings, parse_value
from penstock.core.base.values import frozen
from penstock.core.metadata.features import ELR_VERSION
from penstock.core.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, Image, PartitionImage, TopicImage
from penstock.core.metadata.reluctance import is_reluctant

MIN_INSYNC_REPLICAS = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"


def has_eligible_leaders(image: Image) -> bool:
    """Whether the cluster has agreed on eligible leader replicas (KIP-966)."""
    return image.features.get(ELR_VERSION, 0) >= 1


@frozen
class TopicRules:
    """Looked up once per topic, used for each of its partitions."""

    image: Image
    eligible_leaders: bool
    min_insync: int
    unclean: bool

    def may_lead(self, partition: PartitionImage, broker_id: int) -> bool:
        """Whether a broker is alive and has the directory of its replica."""
        broker = self.image.brokers.get(broker_id)
        return broker is not None and broker.is_active and broker.has_online(partition.directory(broker_id))

    def should_lead(self, broker_id: int) -> bool:
        """Whether a broker that may lead is the one to do it, where others could."""
        return not is_reluctant(self.image, broker_id)


def rules_for(image: Image, settings: BrokerSettings, topic: TopicImage) -> TopicRules:
    """`min.insync.replicas` never asks for more than the topic has."""
    factor = len(topic.replicas[0]) if len(topic) else 1
    return TopicRules(
        image,
        has_eligible_leaders(image),
        min(int(_setting(image, settings, topic.name, MIN_INSYNC_REPLICAS)), factor),
        bool(_setting(image, settings, topic.name, UNCLEAN_ELECTION)),
    )


def _setting(image: Image, settings: BrokerSettings, topic: str, name: str) -> Any:
    """What the topic says, else what the cluster says, else what the controller's file says."""
    value = image.config(TOPIC_RESOURCE, topic).get(name)
    if value is None:
        value = image.config(BROKER_RESOURCE, "").get(name)
    return settings.topic_defaults[name] if value is None else parse_value(TOPIC_KEYS[name], value)
