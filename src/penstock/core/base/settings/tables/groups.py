"""Offsets and groups."""

TABLE = """
# Offsets
offset.metadata.max.bytes | int | 4096 | | high
    The longest note a consumer may leave with a committed offset.
offsets.commit.timeout.ms | int | 5000 | >= 1 | high
    How long a commit of offsets may wait to be written.
offsets.load.buffer.size | int | 5242880 | >= 1 | high
    The batch size for reading the offsets topic at a start.
offsets.retention.check.interval.ms | long | 600000 | >= 1 | high
    How often expired offsets are looked for.
offsets.retention.minutes | int | 10080 | >= 1 | high
    How long the offsets of a group without members are kept.
offsets.topic.compression.codec | int | 0 | | high
    The codec of the offsets topic: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.
offsets.topic.num.partitions | int | 50 | >= 1 | high
    The partitions of the offsets topic; do not change it on a topic in use.
offsets.topic.replication.factor | short | 3 | >= 1 | high
    The copies of the offsets topic.
offsets.topic.segment.bytes | int | 104857600 | >= 1 | high
    The segment size of the offsets topic; small ones compact and load sooner.
# Classic groups
group.initial.rebalance.delay.ms | int | 3000 | | medium
    How long a new group waits for further members before its first assignment.
group.max.session.timeout.ms | int | 1800000 | | medium
    The longest session timeout a member may ask for.
group.min.session.timeout.ms | int | 6000 | | medium
    The shortest session timeout a member may ask for.
group.max.size | int | 2147483647 | >= 1 | medium
    The most members of a classic group.
# The coordinator
group.coordinator.append.linger.ms | int | -1 | >= -1 | medium
    How long the coordinator gathers records before it writes; -1 lets it decide by load.
group.coordinator.background.threads | int | 2 | >= 1 | high
    The coordinator's threads for long computations.
group.coordinator.cached.buffer.max.bytes | int | 1048588 | >= 524288 | medium cluster-wide
    The largest write buffer the coordinator keeps for reuse.
group.coordinator.rebalance.protocols | list | classic,consumer,streams | list of: consumer classic share streams | \
medium
    The kinds of groups that are served.
group.coordinator.threads | int | 4 | >= 1 | high
    The threads of the coordinator.
# Groups with server-side assignment
group.consumer.assignment.interval.ms | int | 1000 | >= 0 | medium cluster-wide
    The shortest time between two assignments of a consumer group.
group.consumer.assignors | list | uniform,range | list | medium
    The ways partitions are assigned in consumer groups; the first is the default.
group.consumer.heartbeat.interval.ms | int | 5000 | >= 1 | medium
    How often members of consumer groups report.
group.consumer.max.assignment.interval.ms | int | 15000 | >= 0 | medium
    The longest assignment interval a consumer group may be given.
group.consumer.max.heartbeat.interval.ms | int | 15000 | >= 1 | medium
    The longest heartbeat interval a consumer group may be given.
group.consumer.max.session.timeout.ms | int | 60000 | >= 1 | medium
    The longest session timeout a consumer group may be given.
group.consumer.max.size | int | 2147483647 | >= 1 | medium
    The most members of a consumer group.
group.consumer.migration.policy | string | bidirectional | \
one of, any case: DISABLED DOWNGRADE UPGRADE BIDIRECTIONAL | medium
    Which way a live group may change between the classic and the consumer protocol.
group.consumer.min.assignment.interval.ms | int | 0 | >= 0 | medium
    The shortest assignment interval a consumer group may be given.
group.consumer.min.heartbeat.interval.ms | int | 5000 | >= 1 | medium
    The shortest heartbeat interval a consumer group may be given.
group.consumer.min.session.timeout.ms | int | 45000 | >= 1 | medium
    The shortest session timeout a consumer group may be given.
group.consumer.regex.refresh.interval.ms | int | 600000 | >= 10000 | medium hidden
    How often subscriptions by pattern are matched again.
group.consumer.session.timeout.ms | int | 45000 | >= 1 | medium
    How long a member of a consumer group may be silent.
# Streams groups
group.streams.assignment.interval.ms | int | 1000 | >= 0 | medium cluster-wide
    The shortest time between two assignments of a streams group.
group.streams.heartbeat.interval.ms | int | 5000 | >= 1 | medium
    How often members of streams groups report.
group.streams.initial.rebalance.delay.ms | int | 3000 | >= 0 | medium
    How long a new streams group waits for further members.
group.streams.max.assignment.interval.ms | int | 15000 | >= 0 | medium
    The longest assignment interval a streams group may be given.
group.streams.max.heartbeat.interval.ms | int | 15000 | >= 1 | medium
    The longest heartbeat interval a streams group may be given.
group.streams.max.session.timeout.ms | int | 60000 | >= 1 | medium
    The longest session timeout a streams group may be given.
group.streams.max.size | int | 2147483647 | >= 1 | medium
    The most members of a streams group.
group.streams.max.standby.replicas | int | 2 | >= 0 | medium
    The most standby copies of a task a streams group may be given.
group.streams.min.assignment.interval.ms | int | 0 | >= 0 | medium
    The shortest assignment interval a streams group may be given.
group.streams.min.heartbeat.interval.ms | int | 5000 | >= 1 | medium
    The shortest heartbeat interval a streams group may be given.
group.streams.min.session.timeout.ms | int | 45000 | >= 1 | medium
    The shortest session timeout a streams group may be given.
group.streams.num.standby.replicas | int | 0 | >= 0 | medium
    The standby copies of each task of a streams group.
group.streams.session.timeout.ms | int | 45000 | >= 1 | medium
    How long a member of a streams group may be silent.
"""
