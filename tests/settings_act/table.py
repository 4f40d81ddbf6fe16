"""For every setting that acts: what to look at, and what is seen under its default and under another value."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.core.base.settings.rules import RACK_AWARE_SELECTOR
from penstock.core.records.codecs import Codec
from tests.settings_act import cluster_checks as cluster
from tests.settings_act import log_checks as log
from tests.settings_act import node_checks as node
from tests.settings_act import quorum_checks as quorum
from tests.settings_act import replica_checks as replica
from tests.settings_act import security_checks as security
from tests.settings_act import socket_checks as sockets
from tests.settings_act import tls_checks as tls
from tests.settings_act import transaction_checks as transactions
from tests.settings_act.encryption_table import OF_ENCRYPTION
from tests.settings_act.kinds_of_groups import OF_KINDS_OF_GROUPS
from tests.settings_act.limits_table import OF_LIMITS
from tests.settings_act.log_checks import HOUR_MS
from tests.settings_act.metrics_table import OF_METRICS
from tests.settings_act.oauth_table import OF_OAUTH
from tests.settings_act.schemas_table import OF_SCHEMAS
from tests.settings_act.share_table import OF_SHARE_STATE
from tests.settings_act.sharing_table import OF_SHARING
from tests.settings_act.trial import Flip, on
from tests.tls.certificates import STORE_PASSWORD

NONE = ErrorCode.NONE
FORBIDDEN = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
BOTH = ["k=1", "k=2", "x=1"]
LATEST = ["k=2", "x=1"]
UNLIMITED = "9223372036854775807"
SLOW = "10000"
LOG_FILE = "t-0/00000000000000000000.log"


TOPIC: Final[Mapping[str, Flip]] = {
    "cleanup.policy": Flip(log.after_whatever_the_policy_does, ("delete", []), ("compact", LATEST)),
    "compression.gzip.level": Flip(on(log.stored_level, Codec.GZIP, (-1, 1)), ("-1", [-1]), ("1", [1])),
    "compression.lz4.level": Flip(on(log.stored_level, Codec.LZ4, (9, 17)), ("9", [9]), ("17", [17])),
    "compression.type": Flip(log.stored_codec, ("producer", Codec.NONE), ("zstd", Codec.ZSTD)),
    "compression.zstd.level": Flip(on(log.stored_level, Codec.ZSTD, (3, 19)), ("3", [3]), ("19", [19])),
    "delete.retention.ms": Flip(log.has_mark_of_deletion, ("86400000", True), ("1000", False)),
    "file.delete.delay.ms": Flip(log.is_set_aside, ("60000", True), ("1000", False)),
    "flush.messages": Flip(log.survives_power_loss, ("9223372036854775807", False), ("2", True)),
    "flush.ms": Flip(log.survives_power_loss, ("9223372036854775807", False), ("1000", True)),
    "follower.replication.throttled.replicas": Flip(
        on(replica.catches_up_soon, **{"follower.replication.throttled.rate": SLOW}), ("", True), ("*", False)
    ),
    "index.interval.bytes": Flip(log.index_bytes, ("4096", 0), ("0", 16)),
    "leader.replication.throttled.replicas": Flip(
        on(replica.catches_up_soon, **{"leader.replication.throttled.rate": SLOW}), ("", True), ("*", False)
    ),
    "internal.segment.bytes": Flip(log.segments_of_small_batches, (None, 1), ("100", 3)),
    "max.compaction.lag.ms": Flip(log.after_overdue_compaction, ("9223372036854775807", BOTH), ("10000", LATEST)),
    "max.message.bytes": Flip(log.error_of_large_batch, ("1048588", NONE), ("1000", ErrorCode.MESSAGE_TOO_LARGE)),
    "message.timestamp.after.max.ms": Flip(
        on(log.error_of_time, -2 * HOUR_MS), ("3600000", ErrorCode.INVALID_TIMESTAMP), ("36000000", NONE)
    ),
    "message.timestamp.before.max.ms": Flip(
        on(log.error_of_time, 2 * HOUR_MS),
        ("9223372036854775807", NONE),
        ("3600000", ErrorCode.INVALID_TIMESTAMP),
    ),
    "message.timestamp.type": Flip(log.has_time_of_append, ("CreateTime", False), ("LogAppendTime", True)),
    "min.cleanable.dirty.ratio": Flip(log.after_compaction, ("0.5", LATEST), ("1", BOTH)),
    "min.compaction.lag.ms": Flip(log.after_compaction, ("0", LATEST), ("3600000", BOTH)),
    "min.insync.replicas": Flip(replica.error_of_lone_leader, ("1", NONE), ("2", ErrorCode.NOT_ENOUGH_REPLICAS)),
    "penstock.acks.required": Flip(log.error_of_one_ack, ("any", NONE), ("all", ErrorCode.INVALID_REQUIRED_ACKS)),
    "penstock.batch.records.max": Flip(log.error_of_two_records, ("1000000", NONE), ("1", ErrorCode.MESSAGE_TOO_LARGE)),
    "penstock.batch.unpacked.bytes.max": Flip(
        log.error_of_inflating, ("67108864", NONE), ("1024", ErrorCode.MESSAGE_TOO_LARGE)
    ),
    "penstock.batch.validation": Flip(log.error_of_lie, ("header", NONE), ("records", ErrorCode.INVALID_RECORD)),
    "penstock.sealed.compression.type": Flip(
        log.codecs_after_sealing, ("none", [Codec.NONE, Codec.NONE]), ("zstd", [Codec.ZSTD, Codec.NONE])
    ),
    **OF_SCHEMAS,
    "retention.bytes": Flip(log.kept_by_size, ("-1", ["a=1", "b=1", "c=1"]), ("100", ["b=1", "c=1"])),
    "retention.ms": Flip(on(log.kept_after, 600_000), ("604800000", ["a=1"]), ("60000", [])),
    "segment.bytes": Flip(log.segments_of_large_batches, ("1073741824", 1), ("1048576", 3)),
    "segment.index.bytes": Flip(log.segments_with_dense_indexes, ("10485760", 1), ("36", 2)),
    "segment.jitter.ms": Flip(on(log.segments_with_jitter, 10_000, 8_000), ("0", 1), ("9000", 2)),
    "segment.ms": Flip(on(log.segments_after, 10_000), ("604800000", 1), ("5000", 2)),
    "unclean.leader.election.enable": Flip(replica.has_leader_at_any_price, ("false", False), ("true", True)),
}

# Broker settings that are the defaults of topics: the same is to be seen.
_OF_TOPICS: Final[Mapping[str, Flip]] = {
    "log.cleanup.policy": TOPIC["cleanup.policy"],
    "compression.gzip.level": TOPIC["compression.gzip.level"],
    "compression.lz4.level": TOPIC["compression.lz4.level"],
    "compression.type": TOPIC["compression.type"],
    "compression.zstd.level": TOPIC["compression.zstd.level"],
    "log.cleaner.delete.retention.ms": TOPIC["delete.retention.ms"],
    "log.segment.delete.delay.ms": TOPIC["file.delete.delay.ms"],
    "log.flush.interval.messages": TOPIC["flush.messages"],
    "log.flush.interval.ms": Flip(log.survives_power_loss, (None, False), ("1000", True)),
    "log.flush.scheduler.interval.ms": TOPIC["flush.ms"],
    "log.index.interval.bytes": TOPIC["index.interval.bytes"],
    "log.cleaner.max.compaction.lag.ms": TOPIC["max.compaction.lag.ms"],
    "message.max.bytes": TOPIC["max.message.bytes"],
    "log.message.timestamp.after.max.ms": TOPIC["message.timestamp.after.max.ms"],
    "log.message.timestamp.before.max.ms": TOPIC["message.timestamp.before.max.ms"],
    "log.message.timestamp.type": TOPIC["message.timestamp.type"],
    "min.insync.replicas": TOPIC["min.insync.replicas"],
    "unclean.leader.election.enable": TOPIC["unclean.leader.election.enable"],
    "log.cleaner.min.cleanable.ratio": TOPIC["min.cleanable.dirty.ratio"],
    "log.cleaner.min.compaction.lag.ms": TOPIC["min.compaction.lag.ms"],
    "penstock.acks.required": TOPIC["penstock.acks.required"],
    "penstock.batch.records.max": TOPIC["penstock.batch.records.max"],
    "penstock.batch.unpacked.bytes.max": TOPIC["penstock.batch.unpacked.bytes.max"],
    "penstock.batch.validation": TOPIC["penstock.batch.validation"],
    "penstock.sealed.compression.type": TOPIC["penstock.sealed.compression.type"],
    "log.retention.bytes": TOPIC["retention.bytes"],
    "log.retention.ms": Flip(on(log.kept_after, 600_000), (None, ["a=1"]), ("60000", [])),
    "log.retention.minutes": Flip(on(log.kept_after, 600_000), (None, ["a=1"]), ("1", [])),
    "log.retention.hours": Flip(on(log.kept_after, 2 * HOUR_MS), ("168", ["a=1"]), ("1", [])),
    "log.segment.bytes": TOPIC["segment.bytes"],
    "log.index.size.max.bytes": TOPIC["segment.index.bytes"],
    "log.roll.jitter.ms": Flip(on(log.segments_with_jitter, 10_000, 8_000), (None, 1), ("9000", 2)),
    "log.roll.jitter.hours": Flip(on(log.segments_with_jitter, 100 * HOUR_MS, 90 * HOUR_MS), ("0", 1), ("99", 2)),
    "log.roll.ms": Flip(on(log.segments_after, 10_000), (None, 1), ("5000", 2)),
    "log.roll.hours": Flip(on(log.segments_after, 2 * HOUR_MS), ("168", 1), ("1", 2)),
}
_OF_LOGS: Final[Mapping[str, Flip]] = {
    "log.retention.check.interval.ms": Flip(log.kept_when_looked_after, ("300000", ["a=1"]), ("10000", [])),
    "log.flush.offset.checkpoint.interval.ms": Flip(log.has_recovery_points, ("60000", False), ("5000", True)),
    "log.flush.start.offset.checkpoint.interval.ms": Flip(log.has_start_offsets, ("60000", False), ("5000", True)),
    "log.cleaner.enable": Flip(log.after_compaction, ("true", LATEST), ("false", BOTH)),
    "log.cleaner.backoff.ms": Flip(log.after_a_short_rest, ("15000", BOTH), ("1000", LATEST)),
    "log.cleaner.dedupe.buffer.size": Flip(log.records_after_one_round, ("134217728", 9001), ("1048577", 18001)),
    "penstock.batch.inline.bytes.max": Flip(log.is_read_elsewhere, ("16384", False), ("0", True)),
    "penstock.batch.queue.bytes.max": Flip(
        log.error_of_second_in_line, ("67108864", NONE), ("1048576", ErrorCode.REQUEST_TIMED_OUT)
    ),
    "penstock.producers.max": Flip(
        log.error_after_another_producer, ("200000", ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), ("1", NONE)
    ),
    "penstock.producers.per.partition.max": Flip(
        log.error_after_another_producer, ("10000", ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), ("1", NONE)
    ),
    "producer.id.expiration.ms": Flip(
        on(log.error_of_gap, 700_000), ("86400000", ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER), ("60000", NONE)
    ),
    "producer.id.expiration.check.interval.ms": Flip(
        on(log.error_of_gap, 10_000, expiration_ms=1000),
        ("600000", ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        ("5000", NONE),
    ),
}


def _of_tls() -> Mapping[str, Flip]:
    """Under the defaults there is neither a key nor anybody whom this node trusts."""
    own, pem = tls.own(), {"ssl_keystore_type": "PEM"}
    inline = {**pem, "ssl_keystore_certificate_chain": tls.text(own.certificate)}
    store = {"ssl_keystore_location": own.pkcs12, "ssl_keystore_password": STORE_PASSWORD}
    trust = {"ssl_truststore_location": own.trust12, "ssl_truststore_password": STORE_PASSWORD}
    key = tls.text(own.key)
    return {
        "ssl.client.auth": Flip(tls.lets_in_whoever, ("none", True), ("required", False)),
        "ssl.enabled.protocols": Flip(tls.version_spoken, ("TLSv1.2,TLSv1.3", "TLSv1.3"), ("TLSv1.2", "TLSv1.2")),
        "ssl.endpoint.identification.algorithm": Flip(
            on(tls.is_trusting, "elsewhere", ssl_truststore_type="PEM", ssl_truststore_location=own.ca),
            ("https", False),
            ("", True),
        ),
        "ssl.key.password": Flip(
            on(tls.name_shown, **{**inline, "ssl_keystore_key": tls.locked_key()}),
            (None, None),
            (tls.KEY_PASSWORD, "CN=node"),
        ),
        "ssl.keystore.certificate.chain": Flip(
            on(tls.name_shown, **pem, ssl_keystore_key=key), (None, None), (tls.text(own.certificate), "CN=node")
        ),
        "ssl.keystore.key": Flip(on(tls.name_shown, **inline), (None, None), (key, "CN=node")),
        "ssl.keystore.location": Flip(on(tls.name_shown, **pem), (None, None), (own.pem, "CN=node")),
        "ssl.keystore.password": Flip(
            on(tls.name_shown, ssl_keystore_location=own.pkcs12), (None, None), (STORE_PASSWORD, "CN=node")
        ),
        "ssl.keystore.type": Flip(on(tls.name_shown, **store), ("JKS", "CN=node"), ("PEM", None)),
        "ssl.principal.mapping.rules": Flip(
            tls.principal_of_certificate, ("DEFAULT", "CN=Alice,O=Some"), ("RULE:^CN=(.*?),.*$/$1/L", "alice")
        ),
        "ssl.truststore.certificates": Flip(
            on(tls.is_trusting, ssl_truststore_type="PEM"), (None, False), (tls.text(own.ca), True)
        ),
        "ssl.truststore.location": Flip(on(tls.is_trusting, ssl_truststore_type="PEM"), (None, False), (own.ca, True)),
        "ssl.truststore.password": Flip(
            on(tls.is_trusting, ssl_truststore_location=own.trust12), (None, False), (STORE_PASSWORD, True)
        ),
        "ssl.truststore.type": Flip(on(tls.is_trusting, **trust), ("JKS", True), ("PEM", False)),
    }


_OF_THE_NODE: Final[Mapping[str, Flip]] = {
    "node.id": Flip(node.node_id, ("1", [1]), ("7", [7])),
    "broker.id": Flip(node.node_id, ("1", [1]), ("7", [7])),
    "process.roles": Flip(node.starts, ("broker,controller", True), ("broker", False)),
    "broker.rack": Flip(node.rack, (None, None), ("r1", "r1")),
    "controller.listener.names": Flip(node.brokers_behind_extra_listener, ("CONTROLLER", 1), ("CONTROLLER,EXTRA", 0)),
    "controller.quorum.voters": Flip(node.starts, ("", True), ("2@localhost:9093", False)),
    "metadata.log.dir": Flip(node.metadata_folder, (None, ["/data"]), ("/elsewhere", ["/elsewhere"])),
    "log.dir": Flip(node.data_folder, ("/tmp/kafka-logs", [f"/tmp/kafka-logs/{LOG_FILE}"]), ("/d", [f"/d/{LOG_FILE}"])),
    "log.dirs": Flip(node.data_folder, (None, [f"/tmp/kafka-logs/{LOG_FILE}"]), ("/d", [f"/d/{LOG_FILE}"])),
    "advertised.listeners": Flip(
        node.address, (None, ("127.0.0.1", 9092)), ("PLAINTEXT://kafka.example:29092", ("kafka.example", 29092))
    ),
    "listener.security.protocol.map": Flip(
        node.starts_with_another_name,
        ("SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", False),
        ("CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT", True),
    ),
    "authorizer.class.name": Flip(
        node.error_of_rules, ("", ErrorCode.SECURITY_DISABLED), (STANDARD_AUTHORIZER, FORBIDDEN)
    ),
    "super.users": Flip(
        on(node.error_of_rules, {"authorizer.class.name": STANDARD_AUTHORIZER}),
        ("", FORBIDDEN),
        ("User:alice;User:ANONYMOUS", NONE),
    ),
    "allow.everyone.if.no.acl.found": Flip(
        on(node.error_of_rules, {"authorizer.class.name": STANDARD_AUTHORIZER}), ("false", FORBIDDEN), ("true", NONE)
    ),
    "auto.create.topics.enable": Flip(
        node.error_of_unknown_topic, ("true", NONE), ("false", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    ),
    "delete.topic.enable": Flip(node.error_of_deletion, ("true", NONE), ("false", ErrorCode.TOPIC_DELETION_DISABLED)),
    "num.partitions": Flip(node.partitions_of_new_topic, ("1", 1), ("3", 3)),
    "default.replication.factor": Flip(
        node.error_of_new_topic, ("1", NONE), ("2", ErrorCode.INVALID_REPLICATION_FACTOR)
    ),
    "penstock.scrub.bytes.per.second": Flip(node.scrubs, ("2097152", True), ("0", False)),
    "penstock.disk.full.ratio": Flip(node.takes_writes_on_a_full_disk, ("0.9", True), ("0.5", False)),
}
_OF_THE_CLUSTER: Final[Mapping[str, Flip]] = {
    "broker.heartbeat.interval.ms": Flip(cluster.heartbeats_in_a_minute, ("150", 400), ("600", 100)),
    "broker.session.timeout.ms": Flip(on(cluster.is_fenced_after, 3_000), ("1500", True), ("9000", False)),
    "initial.broker.registration.timeout.ms": Flip(
        on(cluster.gives_up_after, 10_000), ("60000", False), ("5000", True)
    ),
    "controlled.shutdown.enable": Flip(cluster.hands_over, ("true", True), ("false", False)),
    "request.timeout.ms": Flip(on(cluster.answer_without_a_controller, 10), ("30000", False), ("5000", True)),
    "unclean.leader.election.interval.ms": Flip(on(cluster.leader_at_any_price, 5_000), ("300000", -1), ("1000", 3)),
    "auto.leader.rebalance.enable": Flip(
        on(cluster.leader_after_a_while, 6_000, **{"leader.imbalance.check.interval.seconds": "5"}),
        ("true", 2),
        ("false", 3),
    ),
    "auto.balance.enable": Flip(cluster.gets_its_share, ("true", True), ("false", False)),
    "auto.balance.pending": Flip(on(cluster.gets_its_share, marked=False), ("false", False), ("true", True)),
    "auto.balance.interval.ms": Flip(on(cluster.moves_under_way, 9_000), ("5000", 10), ("60000", 0)),
    "auto.balance.moves.max": Flip(on(cluster.moves_under_way, 9_000), ("10", 10), ("3", 3)),
    "auto.balance.throttle.bytes.per.second": Flip(
        cluster.rate_of_balancing, ("10485760", "10485760"), ("1000000", "1000000")
    ),
    "penstock.drained": Flip(cluster.leads_what_is_new, ("false", True), ("true", False)),
    "cordoned.log.dirs": Flip(cluster.takes_new_partitions, ("", True), ("*", False)),
    "leader.imbalance.check.interval.seconds": Flip(on(cluster.leader_after_a_while, 6_000), ("300", 3), ("5", 2)),
    "penstock.host": Flip(sockets.machine_of_node, (None, socket.gethostname()), ("here", "here")),
}
_OF_REPLICAS: Final[Mapping[str, Flip]] = {
    "follower.replication.throttled.rate": Flip(
        on(replica.catches_up_soon, {"follower.replication.throttled.replicas": "*"}), (UNLIMITED, True), (SLOW, False)
    ),
    "leader.replication.throttled.rate": Flip(
        on(replica.catches_up_soon, {"leader.replication.throttled.replicas": "*"}), (UNLIMITED, True), (SLOW, False)
    ),
    "replica.selector.class": Flip(replica.is_sent_elsewhere, (None, False), (RACK_AWARE_SELECTOR, True)),
    "inter.broker.listener.name": Flip(replica.port_of_leader, (None, {9092}), ("extra", {9094})),
    "offsets.topic.replication.factor": Flip(replica.copies_of_offsets, ("3", 3), ("1", 1)),
    "offsets.commit.timeout.ms": Flip(
        on(replica.answer_to_commit, 2), ("5000", None), ("1000", ErrorCode.COORDINATOR_NOT_AVAILABLE)
    ),
    "replica.fetch.backoff.ms": Flip(
        on(replica.tries_often, 10, **{"replica.socket.timeout.ms": "1000"}), ("1000", True), ("10000", False)
    ),
    "replica.fetch.max.bytes": Flip(replica.needs_a_fetch_for_each_batch, ("1048576", False), ("1000", True)),
    "replica.fetch.min.bytes": Flip(replica.follows_at_once, ("1", True), ("10000", False)),
    "replica.fetch.response.max.bytes": Flip(replica.needs_a_fetch_for_each_batch, ("10485760", False), ("1000", True)),
    "replica.fetch.wait.max.ms": Flip(replica.fetches_often_when_idle, ("500", True), ("5000", False)),
    "replica.lag.time.max.ms": Flip(
        on(replica.is_dropped_within, 15, **{"penstock.replica.silent.time.max.ms": "60000"}),
        ("30000", False),
        ("5000", True),
    ),
    "penstock.replica.silent.time.max.ms": Flip(on(replica.is_dropped_within, 4), ("1500", True), ("20000", False)),
    "replica.socket.timeout.ms": Flip(
        on(replica.tries_often, 0, **{"penstock.replica.silent.time.max.ms": "60000"}), ("30000", False), ("2000", True)
    ),
}
_OF_THE_QUORUM: Final[Mapping[str, Flip]] = {
    "controller.quorum.bootstrap.servers": Flip(quorum.asks_who_leads, ("", False), ("10.0.0.9:9093", True)),
    "controller.quorum.auto.join.enable": Flip(quorum.joins_by_itself, ("false", False), ("true", True)),
    "controller.quorum.election.timeout.ms": Flip(quorum.waits_long_before_it_runs, ("500", False), ("5000", True)),
    "controller.quorum.election.backoff.max.ms": Flip(
        quorum.delay_of_the_last_successor_ms, ("1000", 1000), ("300", 300)
    ),
    "controller.quorum.fetch.timeout.ms": Flip(quorum.silence_of_a_leader_s, ("1000", 1), ("7000", 7)),
    "controller.quorum.fetch.max.bytes": Flip(quorum.fetched_batches, ("1048576", True), ("1", False)),
    "controller.quorum.fetch.snapshot.max.bytes": Flip(quorum.fetched_snapshot_bytes, ("1048576", True), ("10", False)),
    "controller.quorum.request.timeout.ms": Flip(quorum.patience_with_a_request_ms, ("1000", 1000), ("700", 700)),
    "controller.quorum.retry.backoff.ms": Flip(quorum.rest_after_a_failure_ms, ("20", 20), ("600", 600)),
    "metadata.log.segment.bytes": Flip(quorum.metadata_segments, ("1073741824", 1), ("8388608", 2)),
    "metadata.log.max.record.bytes.between.snapshots": Flip(
        quorum.snapshots_after_some_topics, ("20971520", 0), ("300", 2)
    ),
    "metadata.log.max.snapshot.interval.ms": Flip(on(quorum.snapshots_after, 600_000), ("3600000", 0), ("60000", 1)),
    "metadata.log.segment.ms": Flip(on(node.segments_of_metadata, 10, 10_000), ("604800000", 1), ("5000", 3)),
    "internal.metadata.log.segment.bytes": Flip(on(node.segments_of_metadata, 1_000), (None, 1), ("1000", 3)),
}
_OF_REQUESTS: Final[Mapping[str, Flip]] = {
    "connection.failed.authentication.delay.ms": Flip(security.is_told_at_once_of_failure, ("100", False), ("0", True)),
    "connections.max.reauth.ms": Flip(security.lifetime_ms, ("0", 0), ("60000", 60_000)),
    "sasl.enabled.mechanisms": Flip(
        security.mechanisms_offered, ("PLAIN", ["PLAIN"]), ("PLAIN,SCRAM-SHA-512", ["PLAIN", "SCRAM-SHA-512"])
    ),
    "sasl.mechanism.controller.protocol": Flip(
        security.mechanism_towards_controllers, ("PLAIN", "PLAIN"), ("SCRAM-SHA-256", "SCRAM-SHA-256")
    ),
    "sasl.mechanism.inter.broker.protocol": Flip(
        security.mechanism_between_brokers, ("PLAIN", "PLAIN"), ("SCRAM-SHA-256", "SCRAM-SHA-256")
    ),
    "sasl.server.max.receive.size": Flip(security.is_closed_for_a_kilobyte, ("524288", False), ("500", True)),
    "security.inter.broker.protocol": Flip(
        security.port_between_brokers, ("PLAINTEXT", 9092), ("SASL_PLAINTEXT", 9094)
    ),
    **_of_tls(),
    **OF_OAUTH,
    "max.connections": Flip(node.connections_taken, ("2147483647", node.CONNECTIONS), ("3", 3)),
    "max.connections.per.ip": Flip(node.connections_taken, ("2147483647", node.CONNECTIONS), ("2", 2)),
    "max.connections.per.ip.overrides": Flip(
        on(node.connections_taken, "10.0.0.9"), ("", node.CONNECTIONS), ("10.0.0.9:2,10.0.0.1:4", 2)
    ),
    "connections.max.idle.ms": Flip(node.is_closed_when_idle, ("600000", False), ("30000", True)),
    "socket.request.max.bytes": Flip(node.is_closed_for_size, ("104857600", False), ("4096", True)),
    "queued.max.request.bytes": Flip(node.requests_that_may_go_on, ("-1", 10), ("8000000", 2)),
    "penstock.frames.unfinished.bytes.max": Flip(node.requests_that_may_go_on, ("201326592", 10), ("8000000", 2)),
    "penstock.frame.stall.ms.max": Flip(node.is_closed_for_slowness, ("30000", False), ("5000", True)),
    "fetch.max.bytes": Flip(node.bytes_of_fetch, ("57671680", 2), ("1024", 1)),
    "max.incremental.fetch.session.cache.slots": Flip(node.gets_session, ("1000", True), ("0", False)),
    "max.request.partition.size.limit": Flip(node.partitions_of_page, ("2000", 3), ("2", 2)),
    "penstock.request.elements.max": Flip(node.is_closed_for_elements, ("130000", False), ("1000", True)),
    "penstock.connection.slots.max": Flip(node.served_behind_a_waiting_one, ("100", True), ("1", False)),
    "penstock.connection.bytes.max": Flip(node.replies_before_reading_stops, ("4194304", 10), ("65536", 2)),
}
_OF_GROUPS: Final[Mapping[str, Flip]] = {
    "offset.metadata.max.bytes": Flip(node.error_of_note, ("4096", NONE), ("99", ErrorCode.OFFSET_METADATA_TOO_LARGE)),
    "offsets.retention.minutes": Flip(on(node.offset_after, 2 * HOUR_MS), ("10080", 5), ("60", -1)),
    "offsets.retention.check.interval.ms": Flip(
        on(node.offset_after, 120_000, retention_minutes=1), ("600000", 5), ("60000", -1)
    ),
    "offsets.topic.compression.codec": Flip(node.codec_of_offsets, ("0", Codec.NONE), ("4", Codec.ZSTD)),
    "offsets.topic.num.partitions": Flip(
        node.offsets_folders,
        ("50", sorted(f"/data/__consumer_offsets-{index}" for index in range(50))),
        ("1", ["/data/__consumer_offsets-0"]),
    ),
    "offsets.topic.segment.bytes": Flip(node.segments_of_offsets, ("104857600", 1), ("1048576", 2)),
    "group.initial.rebalance.delay.ms": Flip(on(node.joined_within, 2_000), ("3000", False), ("1000", True)),
    "group.max.session.timeout.ms": Flip(
        on(node.error_of_session_timeout, 900_000), ("1800000", NONE), ("60000", ErrorCode.INVALID_SESSION_TIMEOUT)
    ),
    "group.min.session.timeout.ms": Flip(
        on(node.error_of_session_timeout, 5_000), ("6000", ErrorCode.INVALID_SESSION_TIMEOUT), ("1000", NONE)
    ),
    "penstock.group.members.bytes.max": Flip(
        node.errors_of_large_member, ("33554432", []), ("65536", [ErrorCode.COORDINATOR_NOT_AVAILABLE])
    ),
    "group.max.size": Flip(node.errors_of_second_member, ("2147483647", []), ("1", [ErrorCode.GROUP_MAX_SIZE_REACHED])),
}
_OF_SOCKETS: Final[Mapping[str, Flip]] = {
    "listeners": Flip(
        on(sockets.is_reachable, sockets.OTHER_LOOPBACK),
        (sockets.BASE["listeners"], False),
        (sockets.BASE["listeners"].replace(sockets.LOOPBACK, sockets.OTHER_LOOPBACK), True),
    ),
    "socket.listen.backlog.size": Flip(sockets.has_room_for_ten_strangers, ("50", True), ("1", False)),
    "socket.receive.buffer.bytes": Flip(
        on(sockets.buffer_bytes, socket.SO_RCVBUF), ("102400", 204800), ("32768", 65536)
    ),
    "socket.send.buffer.bytes": Flip(on(sockets.buffer_bytes, socket.SO_SNDBUF), ("102400", 204800), ("32768", 65536)),
    "penstock.open.files.max": Flip(on(sockets.open_files_within, 16), ("16384", False), ("16", True)),
    "penstock.response.bytes.max": Flip(sockets.makes_slow_readers_wait, ("134217728", False), ("1048576", True)),
}
_OF_TRANSACTIONS: Final[Mapping[str, Flip]] = {
    "transaction.partition.verification.enable": Flip(
        transactions.error_without_a_coordinator, ("true", ErrorCode.NOT_ENOUGH_REPLICAS), ("false", NONE)
    ),
    "add.partitions.to.txn.retry.backoff.ms": Flip(
        transactions.questions_while_the_last_one_ends, ("20", 6), ("50", 3)
    ),
    "add.partitions.to.txn.retry.backoff.max.ms": Flip(
        transactions.questions_while_the_last_one_ends, ("100", 6), ("0", 1)
    ),
    "transaction.max.timeout.ms": Flip(
        on(transactions.error_of_timeout, 600_000),
        ("900000", NONE),
        ("60000", ErrorCode.INVALID_TRANSACTION_TIMEOUT),
    ),
    "transactional.id.expiration.ms": Flip(
        on(transactions.is_known_after, 2 * HOUR_MS), ("604800000", True), ("60000", False)
    ),
    "transaction.remove.expired.transaction.cleanup.interval.ms": Flip(
        on(transactions.is_known_after, 20_000, **{"transactional.id.expiration.ms": "5000"}),
        ("3600000", True),
        ("1000", False),
    ),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": Flip(
        on(transactions.state_after_timeout, 5_000), ("10000", "Ongoing"), ("1000", "CompleteAbort")
    ),
    "transaction.two.phase.commit.enable": Flip(
        transactions.error_of_two_phases, ("false", ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), ("true", NONE)
    ),
    "transaction.state.log.num.partitions": Flip(transactions.partitions_of_the_log, ("50", 50), ("3", 3)),
    "transaction.state.log.min.isr": Flip(transactions.in_sync_of_the_log, ("2", "2"), ("3", "3")),
    "transaction.state.log.replication.factor": Flip(transactions.copies_of_the_log, ("3", 3), ("1", 1)),
    "transaction.state.log.segment.bytes": Flip(
        transactions.segment_bytes_of_the_log, ("104857600", "104857600"), ("1048576", "1048576")
    ),
    "unstable.api.versions.enable": Flip(transactions.newest_init_producer_id, ("false", 5), ("true", 6)),
}
BROKER: Final[Mapping[str, Flip]] = {
    **_OF_TOPICS,
    **_OF_LOGS,
    **_OF_THE_NODE,
    **_OF_THE_CLUSTER,
    **_OF_REPLICAS,
    **_OF_THE_QUORUM,
    **OF_ENCRYPTION,
    **OF_LIMITS,
    **OF_METRICS,
    **OF_SCHEMAS,
    **_OF_REQUESTS,
    **_OF_GROUPS,
    **OF_SHARE_STATE,
    **OF_KINDS_OF_GROUPS,
    **OF_SHARING,
    **_OF_SOCKETS,
    **_OF_TRANSACTIONS,
}
