"""Kafka's command-line tools, run as classes of its jars."""

import subprocess
from enum import StrEnum
from pathlib import Path

from tests.kafka_peer.libs import kafka_libs, program

TOOL_TIMEOUT_S = 60.0
TOOL_HEAP = "-Xmx256M"

# A tool lives for a second or two: the second compiler would cost more than it gives.
TOOL_FLAGS = (TOOL_HEAP, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


class Tool(StrEnum):
    """The class behind each script in Kafka's `bin` folder."""

    ACLS = "org.apache.kafka.tools.AclCommand"
    BROKER_API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
    CLIENT_METRICS = "org.apache.kafka.tools.ClientMetricsCommand"
    CLUSTER = "org.apache.kafka.tools.ClusterTool"
    CONFIGS = "kafka.admin.ConfigCommand"
    CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
    CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    CONSUMER_PERF_TEST = "org.apache.kafka.tools.ConsumerPerformance"
    DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
    DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
    END_TO_END_LATENCY = "org.apache.kafka.tools.EndToEndLatency"
    FEATURES = "org.apache.kafka.tools.FeatureCommand"
    GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
    GROUPS = "org.apache.kafka.tools.GroupsCommand"
    LEADER_ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
    LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
    METADATA_QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
    PRODUCER_PERF_TEST = "org.apache.kafka.tools.ProducerPerformance"
    REASSIGN_PARTITIONS = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    REPLICA_VERIFICATION = "org.apache.kafka.tools.ReplicaVerificationTool"
    SERVER = "kafka.Kafka"
    SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
    STORAGE = "kafka.tools.StorageTool"
    TOPICS = "org.apache.kafka.tools.TopicCommand"
    TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
    VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"
    VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"


def java_tool(
    class_name: str, *args: str | Path, input: str | None = None, timeout: float = TOOL_TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end and hand back its code, output and complaints; the caller judges them."""
    command = java_command(class_name, *args)
    return subprocess.run(command, input=input, capture_output=True, text=True, timeout=timeout, check=False)


def java_command(class_name: str, *args: str | Path, flags: tuple[str, ...] = TOOL_FLAGS) -> list[str]:
    """For a tool that must be watched while it runs (a verifiable client, a consumer that never ends)."""
    logging = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true")
    return [program("java"), *flags, *logging, "-cp", f"{kafka_libs()}/*", class_name, *map(str, args)]
