"""Share groups and their coordinator."""

TABLE = """
group.share.assignment.interval.ms | int | 1000 | >= 0 | medium cluster-wide
    The shortest time between two assignments of a share group.
group.share.assignors | list | simple | list | medium
    The way partitions are assigned in share groups.
group.share.delivery.count.limit | int | 5 | 2 .. 10 | medium
    How often a record is delivered to a share group before it is given up.
group.share.heartbeat.interval.ms | int | 5000 | >= 1 | medium
    How often members of share groups report.
group.share.initialize.retry.interval.ms | int | 30000 | >= 1 | low hidden
    The wait before the state of a share group's partition is set up again.
group.share.max.assignment.interval.ms | int | 15000 | >= 0 | medium
    The longest assignment interval a share group may be given.
group.share.max.delivery.count.limit | int | 10 | 5 .. 25 | medium
    The highest delivery limit a share group may be given.
group.share.max.heartbeat.interval.ms | int | 15000 | >= 1 | medium
    The longest heartbeat interval a share group may be given.
group.share.max.partition.max.record.locks | int | 4000 | 2000 .. 10000 | medium
    The highest number of locks per partition a share group may be given.
group.share.max.record.lock.duration.ms | int | 60000 | 30000 .. 3600000 | medium
    The longest lock on a record a share group may be given.
group.share.max.session.timeout.ms | int | 60000 | >= 1 | medium
    The longest session timeout a share group may be given.
group.share.max.share.sessions | int | 2000 | >= 1 | medium
    The most share sessions kept by a broker.
group.share.max.size | int | 200 | 1 .. 1000 | medium
    The most members of a share group.
group.share.min.assignment.interval.ms | int | 0 | >= 0 | medium
    The shortest assignment interval a share group may be given.
group.share.min.delivery.count.limit | int | 2 | 2 .. 5 | medium
    The lowest delivery limit a share group may be given.
group.share.min.heartbeat.interval.ms | int | 5000 | >= 1 | medium
    The shortest heartbeat interval a share group may be given.
group.share.min.partition.max.record.locks | int | 100 | 100 .. 2000 | medium
    The lowest number of locks per partition a share group may be given.
group.share.min.record.lock.duration.ms | int | 15000 | 1000 .. 30000 | medium
    The shortest lock on a record a share group may be given.
group.share.min.session.timeout.ms | int | 45000 | >= 1 | medium
    The shortest session timeout a share group may be given.
group.share.partition.max.record.locks | int | 2000 | 100 .. 10000 | medium
    How many records of a partition may be out with members of a share group at a time.
group.share.persister.class.name | string | org.apache.kafka.server.share.persister.DefaultStatePersister | | \
medium hidden
    The Java class that keeps the state of share groups.
group.share.record.lock.duration.ms | int | 30000 | 1000 .. 3600000 | medium
    How long a record given to a member of a share group stays locked.
group.share.session.timeout.ms | int | 45000 | >= 1 | medium
    How long a member of a share group may be silent.
share.coordinator.append.linger.ms | int | -1 | >= -1 | medium
    How long the share coordinator gathers records before it writes; -1 lets it decide by load.
share.coordinator.cached.buffer.max.bytes | int | 1048588 | >= 524288 | medium cluster-wide
    The largest write buffer the share coordinator keeps for reuse.
share.coordinator.cold.partition.snapshot.interval.ms | int | 300000 | >= 1 | low hidden
    How often the state of partitions without traffic is written whole.
share.coordinator.load.buffer.size | int | 5242880 | >= 1 | high
    The batch size for reading the share state topic at a start.
share.coordinator.snapshot.update.records.per.snapshot | int | 500 | 0 .. 500 | medium
    After how many changes the state of a partition is written whole.
share.coordinator.state.topic.compression.codec | int | 0 | | high
    The codec of the share state topic, by number.
share.coordinator.state.topic.min.isr | short | 2 | >= 1 | high
    The copies of the share state topic that must be in sync.
share.coordinator.state.topic.num.partitions | int | 50 | >= 1 | high
    The partitions of the share state topic.
share.coordinator.state.topic.prune.interval.ms | int | 300000 | >= 1 | low hidden
    How often the share state topic is cut down to what is needed.
share.coordinator.state.topic.replication.factor | short | 3 | >= 1 | high
    The copies of the share state topic.
share.coordinator.state.topic.segment.bytes | int | 104857600 | >= 1 | high
    The segment size of the share state topic.
share.coordinator.threads | int | 1 | >= 1 | medium
    The threads of the share coordinator.
share.coordinator.write.timeout.ms | int | 5000 | >= 1 | high
    How long a write of the share coordinator may take.
"""
