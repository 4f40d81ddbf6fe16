"""What may be set per topic; the default comes from the broker setting of the same meaning."""

TABLE = """
# Retention and compaction
cleanup.policy | list | delete | list of, or empty: compact delete | medium
    What happens to old records: delete, compact, both, or nothing when empty.
retention.ms | long | 604800000 | >= -1 | medium
    How long records are kept; -1 means for ever.
retention.bytes | long | -1 | | medium
    How many bytes of each partition are kept; -1 means no limit.
delete.retention.ms | long | 86400000 | >= 0 | medium
    How long the mark of a deletion stays after compaction.
min.compaction.lag.ms | long | 0 | >= 0 | medium
    How long a record stays as written before compaction may touch it.
max.compaction.lag.ms | long | 9223372036854775807 | >= 1 | medium
    The longest a record may wait for compaction.
min.cleanable.dirty.ratio | double | 0.5 | 0 .. 1 | medium
    How much of a log must be uncompacted before it is worth a round.
# Segments and indexes
segment.bytes | int | 1073741824 | >= 1048576 | medium
    The size at which a segment is closed and the next one begun.
segment.ms | long | 604800000 | >= 1 | medium
    The age at which a segment is closed even if it is small.
segment.jitter.ms | long | 0 | >= 0 | medium
    The most that is randomly taken off that age.
segment.index.bytes | int | 10485760 | >= 4 | medium
    The size at which an index is full and its segment is closed.
index.interval.bytes | int | 4096 | >= 0 | medium
    How many bytes of records lie between two entries of the offset index.
file.delete.delay.ms | long | 60000 | >= 0 | medium
    How long a removed segment's files stay on disk under another name.
preallocate | boolean | false | | medium
    Whether a new segment file gets its full size at once.
internal.segment.bytes | int | null | | medium hidden
    A segment size below the usual minimum, for tests.
# Safety
flush.messages | long | 9223372036854775807 | >= 1 | medium
    After how many records a partition is synced to disk; 1 makes every acknowledgement wait for it.
flush.ms | long | 9223372036854775807 | >= 0 | medium
    The longest time records stay unsynced.
min.insync.replicas | int | 1 | >= 1 | medium
    How many copies must be in sync for a produce with acks=all to be taken.
penstock.acks.required | string | any | one of: any all | medium
    What producers must ask for: with `all`, those that ask for acks 0 or 1 get INVALID_REQUIRED_ACKS.
unclean.leader.election.enable | boolean | false | | medium
    Whether a copy that may lack records can lead when no complete one is left.
# Records
penstock.batch.validation | string | header | one of: header records | medium
    Whether a batch is taken by its header and checksum, or only once each of its records was read, as Kafka does.
penstock.key.schema.validation | string | off | one of: off id payload | medium
    Whether keys must name a schema that the registry has under their subject (`id`), and be what it says (`payload`).
penstock.value.schema.validation | string | off | one of: off id payload | medium
    Whether values must name a schema that the registry has under their subject (`id`), and be what it says (`payload`).
penstock.key.subject.name.strategy | string | topic | one of: topic record topic-record | medium
    Under which subject the schema of a key has to be: the topic's, the record's by its full name, or that of both.
penstock.value.subject.name.strategy | string | topic | one of: topic record topic-record | medium
    Under which subject the schema of a value has to be: the topic's, the record's by its full name, or that of both.
penstock.schema.validation.on.failure | string | reject | one of: reject dlq | medium
    What becomes of records that do not fit: their batch is refused, or they go to the topic of that name and `.dlq`.
penstock.batch.records.max | int | 1000000 | >= 1 | medium
    The most records of one batch; producers that can, send more of them in several batches.
penstock.batch.unpacked.bytes.max | long | 67108864 | 1024 .. 134217728 | medium
    How many bytes the records of a batch may unpack to where the broker has to read them.
max.message.bytes | int | 1048588 | >= 0 | medium
    The largest batch of records a partition takes, as compressed by the producer.
compression.type | string | producer | one of: uncompressed zstd lz4 snappy gzip producer | medium
    The codec records are kept in; `producer` keeps whatever came.
compression.gzip.level | int | -1 | -1 or 1 .. 9 | medium
    The level at which gzip is used, if the broker compresses.
compression.lz4.level | int | 9 | 1 .. 17 | medium
    The level at which lz4 is used, if the broker compresses.
compression.zstd.level | int | 3 | -131072 .. 22 | medium
    The level at which zstd is used, if the broker compresses.
penstock.sealed.compression.type | string | none | one of: none gzip snappy lz4 zstd | medium
    The codec into which sealed segments are compressed where producers did not, at its `compression.*.level`.
message.timestamp.type | string | CreateTime | one of: CreateTime LogAppendTime | medium
    Whether a record keeps its producer's time or gets the time of its append.
message.timestamp.before.max.ms | long | 9223372036854775807 | >= 0 | medium
    How far in the past a producer's time may be.
message.timestamp.after.max.ms | long | 3600000 | >= 0 | medium
    How far in the future a producer's time may be.
# Copies and tiers
leader.replication.throttled.replicas | list | | throttled replicas | medium
    The copies that are sent to at the throttled rate.
follower.replication.throttled.replicas | list | | throttled replicas | medium
    The copies that are read at the throttled rate.
remote.storage.enable | boolean | false | | medium
    Whether sealed segments go to the remote store.
remote.log.copy.disable | boolean | false | | medium
    Whether nothing more is copied to the remote store.
remote.log.delete.on.disable | boolean | false | | medium
    Whether turning the remote store off removes what is in it.
local.retention.ms | long | -2 | >= -2 | medium
    How long segments stay local once they are remote; -2 follows retention.ms.
local.retention.bytes | long | -2 | >= -2 | medium
    How many bytes stay local once they are remote; -2 follows retention.bytes.
"""
