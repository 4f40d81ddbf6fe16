"""Transactions."""

TABLE = """
transaction.max.timeout.ms | int | 900000 | >= 1 | high
    The longest timeout a transaction may ask for.
transactional.id.expiration.ms | int | 604800000 | >= 1 | high
    How long an unused transactional id is remembered.
transaction.abort.timed.out.transaction.cleanup.interval.ms | int | 10000 | >= 1 | low
    How often transactions past their timeout are looked for.
transaction.remove.expired.transaction.cleanup.interval.ms | int | 3600000 | >= 1 | low
    How often transactional ids past their time are looked for.
transaction.partition.verification.enable | boolean | true | | low cluster-wide
    Whether a partition checks with the coordinator that a transaction really began.
transaction.two.phase.commit.enable | boolean | false | | low
    Whether a transaction may be left to an outside coordinator to finish.
transaction.state.log.load.buffer.size | int | 5242880 | >= 1 | high
    The batch size for reading the transaction topic at a start.
transaction.state.log.min.isr | int | 2 | >= 1 | high
    The copies of the transaction topic that must be in sync.
transaction.state.log.num.partitions | int | 50 | >= 1 | high
    The partitions of the transaction topic.
transaction.state.log.replication.factor | short | 3 | >= 1 | high
    The copies of the transaction topic.
transaction.state.log.segment.bytes | int | 104857600 | >= 1 | high
    The segment size of the transaction topic.
add.partitions.to.txn.retry.backoff.ms | int | 20 | >= 1 | high
    The wait before a request to add partitions to a transaction is tried again.
add.partitions.to.txn.retry.backoff.max.ms | int | 100 | >= 0 | high
    The longest time such a request is tried again for.
"""
