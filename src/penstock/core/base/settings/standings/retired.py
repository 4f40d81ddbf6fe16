"""Settings of Kafka 3.9 that Kafka 4.3 no longer knows: a file that has been carried along still starts."""

from typing import Final

WHY: Final = "Kafka 4 has dropped it"
_NAMES: Final = """
    auto.include.jmx.reporter
    broker.id.generation.enable
    control.plane.listener.name
    controlled.shutdown.max.retries
    controlled.shutdown.retry.backoff.ms
    delegation.token.master.key
    eligible.leader.replicas.enable
    group.coordinator.new.enable
    group.share.enable
    group.share.max.groups
    inter.broker.protocol.version
    leader.imbalance.per.broker.percentage
    log.message.downconversion.enable
    log.message.format.version
    log.message.timestamp.difference.max.ms
    metadata.log.segment.min.bytes
    offsets.commit.required.acks
    reserved.broker.max.id
    """
NAMES: Final = frozenset(_NAMES.split())
PREFIXES: Final = ("zookeeper.", "password.encoder.")
