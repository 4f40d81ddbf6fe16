"""Settings of Penstock's own. To add one: a row here, and a line in `standings`."""

TABLE = """
penstock.host | string | null | non-empty | medium
    The machine this node runs on, so that copies are spread over machines; without it, the host name.
auto.balance.enable | boolean | true | | high cluster-wide
    Whether a broker that joins gets its share of copies and leaders by itself.
auto.balance.pending | boolean | false | | low per-broker
    Whether this broker is yet to get its share; the controller sets it for a broker that joins, and takes it back.
auto.balance.interval.ms | long | 5000 | >= 100 | low
    How often the controller looks whether a broker that joined lacks copies.
auto.balance.moves.max | int | 10 | >= 1 | medium
    How many copies are made at one time to balance the cluster.
auto.balance.throttle.bytes.per.second | long | 10485760 | >= 1 | medium cluster-wide
    The bytes per second that a broker sends and that a broker fetches for these copies.
penstock.replica.silent.time.max.ms | long | 1500 | >= 1 | medium
    How long a follower may not fetch at all and stay in sync. Twice that, and it gives a silent connection up itself.
penstock.open.files.max | int | 16384 | >= 16 | medium
    How many files may be open at one time, at most half of what the process may open; they are opened when needed.
penstock.connection.slots.max | int | 100 | >= 1 | medium
    How many requests of one connection may be unanswered before reading from it stops.
penstock.connection.bytes.max | long | 4194304 | >= 65536 | medium
    How many bytes of answers may wait on one connection before reading from it stops.
penstock.response.bytes.max | long | 268435456 | >= 1048576 | medium
    How many bytes of answers may be held in memory for all connections together; what `sendfile` sends is not held.
penstock.metrics.host | string | 127.0.0.1 | non-empty | low
    The address on which metrics and health are served over HTTP.
penstock.metrics.port | int | -1 | -1 .. 65535 | low
    The port for metrics and health: -1 serves none, 0 takes any free one.
penstock.disk.full.ratio | double | 0.9 | 0 .. 1 | medium
    How full the disk may get before writes are refused while reads and deletions go on.
penstock.acks.required | string | any | one of: any all | medium cluster-wide
    What producers must ask for: with `all`, those that ask for acks 0 or 1 get INVALID_REQUIRED_ACKS.
penstock.sealed.compression.type | string | none | one of: none gzip snappy lz4 zstd | medium cluster-wide
    The codec into which sealed segments are compressed where producers did not, at its `compression.*.level`.
"""
