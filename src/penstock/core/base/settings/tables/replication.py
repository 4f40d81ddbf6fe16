"""Copies of a partition, quotas and metrics."""

TABLE = """
# Copies of a partition
default.replication.factor | int | 1 | | medium
    The copies of a topic that is created without saying how many.
unclean.leader.election.enable | boolean | false | | high cluster-wide
    Whether a copy that may lack records can lead when no complete one is left.
unclean.leader.election.interval.ms | long | 300000 | >= 1 | medium hidden
    How often the controller looks for partitions that need such an election.
auto.leader.rebalance.enable | boolean | true | | high
    Whether leadership moves back to the preferred copy by itself.
leader.imbalance.check.interval.seconds | long | 300 | >= 1 | high
    How often the controller looks for leaderships to move back.
num.replica.fetchers | int | 1 | >= 1 | high cluster-wide
    The threads that copy records, per source broker.
num.replica.alter.log.dirs.threads | int | null | | high
    The threads that move partitions between directories.
replica.fetch.backoff.ms | int | 1000 | >= 0 | medium
    The wait of a follower after a fetch that failed.
replica.fetch.max.bytes | int | 1048576 | >= 0 | medium
    The bytes a follower asks for per partition.
replica.fetch.min.bytes | int | 1 | | high
    The bytes that must be there before a follower's fetch is answered at once.
replica.fetch.response.max.bytes | int | 10485760 | >= 0 | medium
    The bytes a follower asks for in one fetch.
replica.fetch.wait.max.ms | int | 500 | | high
    How long a follower's fetch may wait for records.
replica.high.watermark.checkpoint.interval.ms | long | 5000 | | high
    How often the high watermark is written to disk.
replica.lag.time.max.ms | long | 30000 | | high
    How long a follower may lag before it no longer counts as in sync.
replica.selector.class | string | null | | medium
    The Java class that picks the copy a consumer reads from.
replica.socket.receive.buffer.bytes | int | 65536 | | high
    The receive buffer of a follower's connection.
replica.socket.timeout.ms | int | 30000 | | high
    How long the whole answer to a follower's fetch may take.
follower.fetch.last.tiered.offset.enable | boolean | false | | medium cluster-wide
    Whether an empty follower starts from the last tiered offset.
fetch.purgatory.purge.interval.requests | int | 1000 | | medium
    After how many requests finished waiting fetches are swept out.
producer.purgatory.purge.interval.requests | int | 1000 | | medium
    After how many requests finished waiting produces are swept out.
delete.records.purgatory.purge.interval.requests | int | 1 | | medium
    After how many requests finished waiting deletions are swept out.
share.fetch.purgatory.purge.interval.requests | int | 1000 | | medium
    After how many requests finished waiting share fetches are swept out.
# Quotas
quota.window.num | int | 11 | >= 1 | low
    The samples kept to measure client quotas.
quota.window.size.seconds | int | 1 | >= 1 | low
    The length of one sample of client quotas.
replication.quota.window.num | int | 11 | >= 1 | low
    The samples kept to measure replication quotas.
replication.quota.window.size.seconds | int | 1 | >= 1 | low
    The length of one sample of replication quotas.
alter.log.dirs.replication.quota.window.num | int | 11 | >= 1 | low
    The samples kept to measure moves between directories.
alter.log.dirs.replication.quota.window.size.seconds | int | 1 | >= 1 | low
    The length of one sample of moves between directories.
controller.quota.window.num | int | 11 | >= 1 | low
    The samples kept to measure the rate of controller mutations.
controller.quota.window.size.seconds | int | 1 | >= 1 | low
    The length of one sample of controller mutations.
client.quota.callback.class | class | null | | low
    A Java class that decides client quotas.
leader.replication.throttled.rate | long | 9223372036854775807 | >= 0 | medium cluster-wide hidden
    The bytes per second sent to throttled followers.
follower.replication.throttled.rate | long | 9223372036854775807 | >= 0 | medium cluster-wide hidden
    The bytes per second read by throttled followers.
replica.alter.log.dirs.io.max.bytes.per.second | long | 9223372036854775807 | >= 0 | medium cluster-wide hidden
    The bytes per second moved between directories.
# Metrics
metric.reporters | list | org.apache.kafka.common.metrics.JmxReporter | list or empty | low cluster-wide
    Java classes that report metrics.
metrics.num.samples | int | 2 | >= 1 | low
    The samples kept for each metric.
metrics.recording.level | string | INFO | | low
    The level of detail of metrics.
metrics.sample.window.ms | long | 30000 | >= 1 | low
    The length of one sample of a metric.
kafka.metrics.reporters | list | | list or empty | low
    Java classes that report the older kind of metrics.
kafka.metrics.polling.interval.secs | int | 10 | >= 1 | low
    How often the older kind of reporter is asked.
telemetry.max.bytes | int | 1048576 | >= 1 | low
    The largest push of metrics a client may send, after decompression.
"""
