"""What a node knows of its cluster: replicas, the controller, the quorum."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from penstock.core.node.links.link import LinkCounts
from penstock.core.node.node import Node
from penstock.shell.exposition.census import Census
from penstock.shell.exposition.families import COUNTER, GAUGE, HISTOGRAM, Family, buckets, labels, single
from penstock.shell.exposition.topics import TOPICS_MAX

MS_PER_S = 1000
NOBODY = -1


def replica_families(node: Node, census: Census) -> Iterator[Family]:
    name, metrics = "kafka_server_replicamanager", node.metrics
    yield single(f"{name}_leadercount", GAUGE, "Partitions that this node leads.", census.leaders)
    yield single(f"{name}_partitioncount", GAUGE, "Replicas on this node.", len(census.partitions))
    text = "Partitions led here that have replicas out of sync."
    yield single(f"{name}_underreplicatedpartitions", GAUGE, text, census.under_replicated)
    text = "Partitions led here with fewer replicas in sync than they must have."
    yield single(f"{name}_underminisrpartitioncount", GAUGE, text, census.under_min_isr)
    yield single(f"{name}_atminisrpartitioncount", GAUGE, "And with just as many.", census.at_min_isr)
    text = "Replicas that left the in-sync set of a partition led here."
    yield single(f"{name}_isrshrinks_total", COUNTER, text, metrics.isr_shrinks)
    yield single(f"{name}_isrexpands_total", COUNTER, "Replicas that joined one.", metrics.isr_expands)
    offline = len(node.replicas.offline) if node.has_opened else 0
    yield single(f"{name}_offlinereplicacount", GAUGE, "Replicas that are damaged and not open.", offline)
    text = "1 once the disk has failed: the node ends with it."
    yield single("kafka_log_logmanager_offlinelogdirectorycount", GAUGE, text, int(node.state == "failed"))
    text = "By follower, records that are led here and that it does not have."
    lags = ((labels(replica=replica), lag) for replica, lag in sorted(census.lags.items()))
    yield Family("penstock_replication_lag", GAUGE, text, lags)
    text = "Of all followers of all partitions led here, the longest way behind, in records."
    yield single("kafka_server_replicafetchermanager_maxlag", GAUGE, text, census.follower_lag_max)


def controller_families(node: Node) -> Iterator[Family]:
    """What belongs to the whole cluster is told by its controller alone, so that sums over nodes are right."""
    if not node.has_quorum:
        return
    controls = node.state != "starting" and node.cluster.controller.is_active
    name, metrics, image = "kafka_controller_kafkacontroller", node.metrics, node.image
    yield single(f"{name}_activecontrollercount", GAUGE, "1 on the controller.", int(controls))
    offline = image.tally.leaderless if controls else 0
    yield single(f"{name}_offlinepartitionscount", GAUGE, "Partitions that nobody leads.", offline)
    name = "kafka_controller_controllerstats"
    text = "Leaders that were not in sync: records may be lost."
    yield single(f"{name}_uncleanleaderelections_total", COUNTER, text, metrics.unclean_elections)
    yield single(f"{name}_leaderelections_total", COUNTER, "Partitions with another leader.", metrics.leader_elections)
    text = "How long partitions were led by nobody."
    yield Family("penstock_partition_leaderless_seconds", HISTOGRAM, text, buckets(metrics.leaderless_ms, MS_PER_S))
    if controls:
        yield from _cluster(node)


def _cluster(node: Node) -> Iterator[Family]:
    image = node.image
    name = "kafka_controller_kafkacontroller"
    active = sum(broker.is_active for broker in image.brokers.values())
    yield single("kafka_brokers", GAUGE, "Brokers that are let in.", active)
    yield single(f"{name}_activebrokercount", GAUGE, "Brokers that are let in.", active)
    yield single(f"{name}_fencedbrokercount", GAUGE, "Brokers that are not.", len(image.brokers) - active)
    partitions = sum(map(len, image.topics.values()))
    yield single(f"{name}_globaltopiccount", GAUGE, "Topics.", len(image.topics))
    yield single(f"{name}_globalpartitioncount", GAUGE, "Partitions.", partitions)
    yield single("penstock_reassigning_partitions", GAUGE, "Partitions that move.", image.tally.reassigning)
    told = sorted(image.topics.items(), key=itemgetter(0))[:TOPICS_MAX]
    counts = ((labels(topic=topic), len(known)) for topic, known in told)
    yield Family("kafka_topic_partitions", GAUGE, "Partitions of a topic.", counts)


def quorum_families(node: Node) -> Iterator[Family]:
    if not (node.has_quorum and node.quorum.has_begun):
        return
    raft, metrics, quorum = node.quorum.raft, node.metrics, node.quorum
    election, name = raft.election, "kafka_server_raftmetrics"
    voted = NOBODY if election.voted is None else election.voted.id
    leader = NOBODY if election.leader_id is None else election.leader_id
    yield single(f"{name}_current_epoch", GAUGE, "The quorum's epoch.", election.epoch)
    yield single(f"{name}_current_leader", GAUGE, "Who leads it; -1: nobody.", leader)
    yield single(f"{name}_current_vote", GAUGE, "Whom this node voted for; -1: nobody.", voted)
    yield single(f"{name}_high_watermark", GAUGE, "Where the metadata is committed.", raft.high_watermark)
    yield single(f"{name}_log_end_offset", GAUGE, "Where the metadata log ends.", quorum.end_offset)
    state = labels(current_state=type(raft.role).__name__.removesuffix("State").lower())
    yield Family(f"{name}_current_state", GAUGE, "What this node is in the quorum.", ((state, 1),))
    appended, fetched = metrics.metadata_rates.per_s(node.now_us)
    yield single(f"{name}_append_records_rate", GAUGE, "Records a second that it appends as the leader.", appended)
    yield single(f"{name}_fetch_records_rate", GAUGE, "Records a second that it fetches.", fetched)
    text = "How long its last records took to be committed, in milliseconds."
    yield single(f"{name}_commit_latency_avg", GAUGE, text, metrics.metadata_rates.commit_ms(node.now_us))
    text = "How long nobody was heard of as the controller, before each time that somebody was."
    waits = buckets(metrics.controller_elections_ms, MS_PER_S)
    yield Family("penstock_controller_election_seconds", HISTOGRAM, text, waits)
    missed_ms = node.cluster.quorum_watch.missed_ms if hasattr(node, "cluster") else 0
    text = "For how long nobody has been heard of as the controller."
    yield single("penstock_controller_missing_seconds", GAUGE, text, missed_ms / MS_PER_S)
    yield single("penstock_metadata_elections_total", COUNTER, "Elections won.", metrics.metadata_elections)
    text = "Times that the metadata log was cut."
    yield single("penstock_metadata_truncations_total", COUNTER, text, metrics.metadata_truncations)
    text = "Snapshots that came from the leader."
    yield single("penstock_metadata_snapshots_installed_total", COUNTER, text, metrics.metadata_snapshots_installed)
    yield from _channel(node.links.raft)


def _channel(counts: LinkCounts) -> Iterator[Family]:
    name = "kafka_server_raftchannelmetrics"
    yield single(f"{name}_incoming_byte_total", COUNTER, "Bytes of answers from voters.", counts.bytes_in)
    yield single(f"{name}_outgoing_byte_total", COUNTER, "Bytes of questions to voters.", counts.bytes_out)
    yield single(f"{name}_request_total", COUNTER, "Questions to voters.", counts.asked)
    yield single(f"{name}_response_total", COUNTER, "Answers from voters.", counts.answered)
