"""What may be set per group; the default comes from the broker setting of the same meaning."""

TABLE = """
consumer.assignment.interval.ms | int | 1000 | >= 0 | medium
    The shortest time between two assignments of this consumer group.
consumer.heartbeat.interval.ms | int | 5000 | >= 1 | medium
    How often members of this consumer group report.
consumer.session.timeout.ms | int | 45000 | >= 1 | medium
    How long a member of this consumer group may be silent.
penstock.share.on.failure | string | archive | one of: archive dlq | medium
    What becomes of records that members reject, or that were delivered as often as they may be: nobody gets them any \
more, and with `dlq` they go to the topic of that name and `.dlq` before.
share.assignment.interval.ms | int | 1000 | >= 0 | medium
    The shortest time between two assignments of this share group.
share.auto.offset.reset | string | latest | offset reset | medium
    Where this share group begins when it has no offsets.
share.delivery.count.limit | int | 5 | >= 2 | medium
    How often a record is delivered to this share group before it is given up.
share.heartbeat.interval.ms | int | 5000 | >= 1 | medium
    How often members of this share group report.
share.isolation.level | string | read_uncommitted | one of: read_committed read_uncommitted | medium
    Whether this share group sees records of open transactions.
share.partition.max.record.locks | int | 2000 | >= 100 | medium
    How many records of a partition may be out with this group's members at a time.
share.record.lock.duration.ms | int | 30000 | >= 1000 | medium
    How long a record given to a member of this share group stays locked.
share.renew.acknowledge.enable | boolean | true | | medium
    Whether a member of this share group may prolong its lock on a record.
share.session.timeout.ms | int | 45000 | >= 1 | medium
    How long a member of this share group may be silent.
streams.assignment.interval.ms | int | 1000 | >= 0 | medium
    The shortest time between two assignments of this streams group.
streams.heartbeat.interval.ms | int | 5000 | >= 1 | medium
    How often members of this streams group report.
streams.initial.rebalance.delay.ms | int | 3000 | >= 0 | medium
    How long this streams group waits for further members when it is new.
streams.num.standby.replicas | int | 0 | >= 0 | medium
    The standby copies of each task of this streams group.
streams.session.timeout.ms | int | 45000 | >= 1 | medium
    How long a member of this streams group may be silent.
"""
