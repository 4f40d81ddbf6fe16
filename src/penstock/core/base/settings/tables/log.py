"""The log: segments, retention, durability, compaction."""

TABLE = """
# Where the log is
log.dir | list | /tmp/kafka-logs | list | high
    The directory that holds the partitions, where log.dirs is not given.
log.dirs | list | null | list | high
    The directories that hold the partitions.
cordoned.log.dirs | list | | list or empty | medium per-broker
    Directories that take no new partitions; * stands for all.
log.dir.failure.timeout.ms | long | 30000 | >= 1 | low
    How long a broker with a failed directory that it cannot report goes on before it stops.
num.recovery.threads.per.data.dir | int | 2 | >= 1 | high cluster-wide
    The threads per directory that recover logs at the start and flush them at the end.
# Segments and indexes
log.segment.bytes | int | 1073741824 | >= 1048576 | high cluster-wide
    The size at which a segment is closed and the next one begun.
log.roll.ms | long | null | | high cluster-wide
    The age at which a segment is closed even if it is small; overrides log.roll.hours.
log.roll.hours | int | 168 | >= 1 | high
    The age in hours at which a segment is closed, where log.roll.ms is not given.
log.roll.jitter.ms | long | null | | high cluster-wide
    The most that is randomly taken off the age, so that segments do not all roll at once.
log.roll.jitter.hours | int | 0 | >= 0 | high
    The same in hours, where log.roll.jitter.ms is not given.
log.index.interval.bytes | int | 4096 | >= 0 | medium cluster-wide
    How many bytes of records lie between two entries of the offset index.
log.index.size.max.bytes | int | 10485760 | >= 4 | medium cluster-wide
    The size at which an index is full and its segment is closed.
log.preallocate | boolean | false | | medium cluster-wide
    Whether a new segment file gets its full size at once.
log.segment.delete.delay.ms | long | 60000 | >= 0 | high cluster-wide
    How long a removed segment's files stay on disk under another name.
# Retention
log.cleanup.policy | list | delete | list of, or empty: compact delete | medium cluster-wide
    What happens to old records: delete, compact, both, or nothing when empty.
log.retention.ms | long | null | | high cluster-wide
    How long records are kept; -1 means for ever; overrides minutes and hours.
log.retention.minutes | int | null | | high
    The same in minutes, where log.retention.ms is not given.
log.retention.hours | int | 168 | | high
    The same in hours, where neither milliseconds nor minutes are given.
log.retention.bytes | long | -1 | | high cluster-wide
    How many bytes of a partition are kept; -1 means no limit.
log.retention.check.interval.ms | long | 300000 | >= 1 | medium
    How often old segments are looked for.
log.initial.task.delay.ms | long | 30000 | >= 0 | low hidden
    How long after the start the first such round begins.
# Safety on disk
log.flush.interval.messages | long | 9223372036854775807 | >= 1 | high cluster-wide
    After how many records a partition is synced to disk.
log.flush.interval.ms | long | null | | high cluster-wide
    The longest time records stay unsynced; without it, log.flush.scheduler.interval.ms.
log.flush.scheduler.interval.ms | long | 9223372036854775807 | | high
    How often partitions that are due for a sync are looked for.
log.flush.offset.checkpoint.interval.ms | int | 60000 | >= 0 | high
    How often the recovery points of the logs are written.
log.flush.start.offset.checkpoint.interval.ms | int | 60000 | >= 0 | high
    How often the first offsets of the logs are written.
min.insync.replicas | int | 1 | >= 1 | high cluster-wide
    How many copies must be in sync for a produce with acks=all to be taken.
# Records
message.max.bytes | int | 1048588 | >= 0 | high cluster-wide
    The largest batch of records a partition takes, as compressed by the producer.
compression.type | string | producer | one of: uncompressed zstd lz4 snappy gzip producer | high cluster-wide
    The codec records are kept in; `producer` keeps whatever came.
compression.gzip.level | int | -1 | -1 or 1 .. 9 | medium cluster-wide
    The level at which gzip is used, if the broker compresses.
compression.lz4.level | int | 9 | 1 .. 17 | medium cluster-wide
    The level at which lz4 is used, if the broker compresses.
compression.zstd.level | int | 3 | -131072 .. 22 | medium cluster-wide
    The level at which zstd is used, if the broker compresses.
log.message.timestamp.type | string | CreateTime | one of: CreateTime LogAppendTime | medium cluster-wide
    Whether a record keeps its producer's time or gets the time of its append.
log.message.timestamp.before.max.ms | long | 9223372036854775807 | >= 0 | medium cluster-wide
    How far in the past a producer's time may be.
log.message.timestamp.after.max.ms | long | 3600000 | >= 0 | medium cluster-wide
    How far in the future a producer's time may be.
# Compaction
log.cleaner.enable | boolean | true | | medium
    Whether compaction runs at all.
log.cleaner.threads | int | 1 | >= 0 | medium cluster-wide
    The threads that compact.
log.cleaner.backoff.ms | long | 15000 | >= 0 | medium cluster-wide
    How long compaction rests when there was nothing to do.
log.cleaner.dedupe.buffer.size | long | 134217728 | | medium cluster-wide
    The memory for the table of keys that one round of compaction may use.
log.cleaner.io.buffer.load.factor | double | 0.9 | | medium cluster-wide
    How full that table may get.
log.cleaner.io.buffer.size | int | 524288 | >= 0 | medium cluster-wide
    The memory for reading and writing segments, over all threads.
log.cleaner.io.max.bytes.per.second | double | 1.7976931348623157E308 | | medium cluster-wide
    How fast compaction may read and write together.
log.cleaner.min.cleanable.ratio | double | 0.5 | 0 .. 1 | medium cluster-wide
    How much of a log must be uncompacted before it is worth a round.
log.cleaner.min.compaction.lag.ms | long | 0 | >= 0 | medium cluster-wide
    How long a record stays as written before compaction may touch it.
log.cleaner.max.compaction.lag.ms | long | 9223372036854775807 | >= 1 | medium cluster-wide
    The longest a record may wait for compaction.
log.cleaner.delete.retention.ms | long | 86400000 | >= 0 | medium cluster-wide
    How long the mark of a deletion stays after compaction.
# Producers
producer.id.expiration.ms | int | 86400000 | >= 1 | low cluster-wide
    How long an idempotent producer that sends nothing is remembered.
producer.id.expiration.check.interval.ms | int | 600000 | >= 1 | low hidden
    How often forgotten producers are looked for.
"""
