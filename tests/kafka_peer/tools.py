"""Kafka's command-line tools, run as classes of its jars.

Half of a tool's second goes into the loading of its classes. The first one that asks a broker leaves an archive of
them, which the others map (class data sharing). A JVM that has no use for the archive goes on without.
"""

import hashlib
import os
import subprocess
from enum import StrEnum
from functools import cache
from pathlib import Path

from tests.kafka_peer.libs import kafka_libs, program

TOOL_TIMEOUT_S = 60.0
TOOL_HEAP = "-Xmx256M"
# What a tool prints is looked at.
QUIET_SHARING = "-Xlog:cds=off,cds+dynamic=off,class+path=off"

# A tool lives for a second or two: the second compiler would cost more than it gives.
TOOL_FLAGS = (TOOL_HEAP, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", QUIET_SHARING)


class Tool(StrEnum):
    """The class behind each script in Kafka's `bin` folder."""

    ACLS = "org.apache.kafka.tools.AclCommand"
    BROKER_API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
    CLIENT_METRICS = "org.apache.kafka.tools.ClientMetricsCommand"
    CLUSTER = "org.apache.kafka.tools.ClusterTool"
    CONFIGS = "kafka.admin.ConfigCommand"
    CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
    CONSOLE_SHARE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
    CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    CONSUMER_PERF_TEST = "org.apache.kafka.tools.ConsumerPerformance"
    DELEGATION_TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
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
    STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"
    TOPICS = "org.apache.kafka.tools.TopicCommand"
    TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
    VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"
    VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
    VERIFIABLE_SHARE_CONSUMER = "org.apache.kafka.tools.VerifiableShareConsumer"


def java_tool(
    class_name: str, *args: str | Path, input: str | None = None, timeout: float = TOOL_TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end and hand back its code, output and complaints; the caller judges them."""
    archive = class_archive()
    if archive.exists() or "--bootstrap-server" not in args:
        command = java_command(class_name, *args)
        return subprocess.run(command, input=input, capture_output=True, text=True, timeout=timeout, check=False)
    fresh = archive.with_suffix(f".{os.getpid()}")
    command = java_command(class_name, *args, flags=(*TOOL_FLAGS, f"-XX:ArchiveClassesAtExit={fresh}"))
    done = subprocess.run(command, input=input, capture_output=True, text=True, timeout=timeout, check=False)
    if fresh.exists():
        fresh.replace(archive)
    return done


@cache
def class_archive() -> Path:
    """It lies beside the jars, goes with them, and belongs to one Java."""
    java = Path(program("java")).resolve()
    version = hashlib.sha256(f"{java} {java.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    return kafka_libs() / f"tools-{version}.jsa"


def java_command(class_name: str, *args: str | Path, flags: tuple[str, ...] = TOOL_FLAGS) -> list[str]:
    """For a tool that must be watched while it runs (a verifiable client, a consumer that never ends)."""
    logging = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true")
    archive = class_archive()
    sharing = (f"-XX:SharedArchiveFile={archive}",) if archive.exists() and flags == TOOL_FLAGS else ()
    return [
        program("java"),
        *flags,
        *sharing,
        *logging,
        "-cp",
        f"{kafka_libs()}/*",
        class_name,
        *map(str, args),
    ]
