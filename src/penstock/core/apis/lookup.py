"""Find a local partition for a request that names it, with the errors its client expects."""

from __future__ import annotations

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.node.node import Node
from penstock.core.partition.partition import Partition

NO_EPOCH = -1


def exists(node: Node, name: str, index: int) -> bool:
    """Whether the cluster has such a partition, here or elsewhere."""
    topic = node.image.topic(name)
    return topic is not None and 0 <= index < len(topic)


def find_partition(node: Node, topic: str, index: int, epoch: int = NO_EPOCH, any_replica: bool = False) -> Partition:
    """The partition, in the epoch that the client believes in, if we lead it or any replica will do."""
    partition = node.replicas.get(topic, index)
    if partition is None:
        raise ApiError(node.replicas.refusal(node.image, topic, index))
    if epoch != NO_EPOCH and epoch != partition.leader_epoch:
        older = epoch < partition.leader_epoch
        raise ApiError(ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH)
    if not (partition.leads or any_replica):
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return partition
