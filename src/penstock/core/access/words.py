"""What access rules speak of, in the numbers that they have on the wire and in the metadata log."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Resource(IntEnum):
    """What a rule can be about."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Operation(IntEnum):
    """What can be done with it; a rule can also be about ALL of that."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class PatternType(IntEnum):
    """How a rule's name stands for names."""

    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """What a rule says."""

    DENY = 2
    ALLOW = 3


UNKNOWN: Final = 0
"""Of any of these: what nobody may say. A number that has no meaning counts as it."""
ANY: Final = 1
"""Of any of these, in a filter."""
MATCH: Final = 2
"""Of a pattern's type, in a filter: whatever rule would apply to a name."""

CLUSTER_NAME: Final = "kafka-cluster"
"""The cluster in rules about it, as Kafka's tools write them."""
WILDCARD: Final = "*"
"""Every name of a literal rule, and every host."""
EVERYBODY: Final = "User:*"

KNOWN: Final[dict[Resource, tuple[Operation, ...]]] = {
    Resource.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    Resource.GROUP: (
        Operation.READ,
        Operation.DESCRIBE,
        Operation.DELETE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    Resource.CLUSTER: (
        Operation.CREATE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
        Operation.ALTER,
        Operation.DESCRIBE,
    ),
    Resource.TRANSACTIONAL_ID: (Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT),
    Resource.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    Resource.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}
"""What can be done with each resource."""
