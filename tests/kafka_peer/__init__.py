"""Apache Kafka beside us: its jars, its tools, and a real broker of it on loopback.

The tests hold Penstock against Kafka itself, not against anyone's memory of it. Java 17 and Maven are needed; the jars
are fetched once into .cache.
"""

from tests.kafka_peer.libs import KAFKA_VERSION, kafka_libs
from tests.kafka_peer.peer import (
    QUICK_START_FLAGS,
    SERVER_FLAGS,
    KafkaPeer,
    answers_api_versions,
    cluster_id,
    free_ports,
    is_free,
)
from tests.kafka_peer.tools import Tool, java_command, java_tool

__all__ = [
    "KAFKA_VERSION",
    "QUICK_START_FLAGS",
    "SERVER_FLAGS",
    "KafkaPeer",
    "Tool",
    "answers_api_versions",
    "cluster_id",
    "free_ports",
    "is_free",
    "java_command",
    "java_tool",
    "kafka_libs",
]
