"""Tiered storage."""

TABLE = """
remote.log.storage.system.enable | boolean | false | | medium
    Whether sealed segments may be kept in a remote store.
log.local.retention.ms | long | -2 | >= -2 | medium cluster-wide
    How long segments stay local once they are remote; -2 follows log.retention.ms.
log.local.retention.bytes | long | -2 | >= -2 | medium cluster-wide
    How many bytes stay local once they are remote; -2 follows log.retention.bytes.
remote.fetch.max.wait.ms | int | 500 | >= 1 | medium cluster-wide
    How long a fetch waits for records from the remote store.
remote.list.offsets.request.timeout.ms | long | 30000 | >= 1 | medium cluster-wide
    How long a lookup of offsets waits for the remote store.
remote.log.index.file.cache.total.size.bytes | long | 1073741824 | >= 1 | low cluster-wide
    The disk space for indexes fetched from the remote store.
remote.log.index.file.cache.ttl.ms | long | 900000 | >= -1 | low hidden
    How long an index from the remote store is kept unused.
remote.log.manager.copier.thread.pool.size | int | 10 | >= 1 | medium cluster-wide
    The threads that copy segments to the remote store.
remote.log.manager.expiration.thread.pool.size | int | 10 | >= 1 | medium cluster-wide
    The threads that remove segments from the remote store.
remote.log.manager.follower.thread.pool.size | int | 2 | >= 1 | medium cluster-wide
    The threads that follow remote segments of partitions led elsewhere.
remote.log.manager.thread.pool.size | int | 2 | >= 1 | medium
    The threads for whatever else the remote store needs.
remote.log.manager.copy.max.bytes.per.second | long | 9223372036854775807 | >= 1 | medium cluster-wide
    How fast segments are copied to the remote store.
remote.log.manager.copy.quota.window.num | int | 11 | >= 1 | medium
    The samples kept to measure that copying.
remote.log.manager.copy.quota.window.size.seconds | int | 1 | >= 1 | medium
    The length of one sample of that copying.
remote.log.manager.fetch.max.bytes.per.second | long | 9223372036854775807 | >= 1 | medium cluster-wide
    How fast records are read from the remote store.
remote.log.manager.fetch.quota.window.num | int | 11 | >= 1 | medium
    The samples kept to measure that reading.
remote.log.manager.fetch.quota.window.size.seconds | int | 1 | >= 1 | medium
    The length of one sample of that reading.
remote.log.manager.task.interval.ms | long | 30000 | >= 1 | low
    How often segments to copy and to remove are looked for.
remote.log.manager.task.retry.backoff.ms | long | 500 | >= 1 | low hidden
    The first wait after a failed copy.
remote.log.manager.task.retry.backoff.max.ms | long | 30000 | >= 1 | low hidden
    The longest wait after failed copies.
remote.log.manager.task.retry.jitter | double | 0.2 | 0 .. 0.5 | low hidden
    The random part of that wait.
remote.log.metadata.custom.metadata.max.bytes | int | 128 | >= 0 | low
    The largest note a store may attach to a segment.
remote.log.metadata.manager.class.name | string | \
org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager | non-empty | medium
    The Java class that knows which segments are remote.
remote.log.metadata.manager.class.path | string | null | | medium
    Where that class is loaded from.
remote.log.metadata.manager.impl.prefix | string | rlmm.config. | non-empty | medium
    The prefix of the settings handed to that class.
remote.log.metadata.manager.listener.name | string | null | non-empty | medium
    The listener that class uses to reach the broker.
remote.log.reader.max.pending.tasks | int | 100 | >= 1 | medium
    How many reads of the remote store may wait for a thread.
remote.log.reader.threads | int | 10 | >= 1 | medium cluster-wide
    The threads that read the remote store.
remote.log.storage.manager.class.name | string | null | non-empty | medium
    The Java class that reaches the remote store.
remote.log.storage.manager.class.path | string | null | | medium
    Where that class is loaded from.
remote.log.storage.manager.impl.prefix | string | rsm.config. | non-empty | medium
    The prefix of the settings handed to that class.
"""
