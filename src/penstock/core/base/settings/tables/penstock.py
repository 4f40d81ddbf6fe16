"""Settings of Penstock's own. To add one: a row here, and a line in `standings`."""

TABLE = """
penstock.host | string | null | non-empty | medium
    The machine this node runs on, so that copies are spread over machines; without it, the host name.
auto.balance.enable | boolean | true | | high cluster-wide
    Whether a broker that joins gets its share of copies and leaders by itself.
auto.balance.pending | boolean | false | | low per-broker
    Whether this broker is yet to get its share; the controller sets it for a broker that joins, and takes it back.
penstock.drained | boolean | false | | medium per-broker
    Whether others lead for this broker wherever they can: `penstock cluster drain` sets it, for maintenance.
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
penstock.frames.unfinished.bytes.max | long | 201326592 | >= 65536 | medium
    How much memory requests may take that have begun to arrive and are not served, of all connections together.
penstock.frame.stall.ms.max | int | 30000 | >= 1000 | medium
    How long a request may gain less than 64 KB and not end before its connection is closed; 1 s while others wait.
penstock.request.elements.max | int | 130000 | >= 1000 | medium
    How many elements a request may have in all of its arrays; 30,000 of them where each is answered with much.
penstock.group.members.bytes.max | long | 33554432 | >= 65536 | medium
    How much the members of all groups of a broker may say of themselves and be given; who says little is always let in.
penstock.response.bytes.max | long | 134217728 | >= 1048576 | medium
    How many bytes of answers may be in memory for all connections together; from half of it on large requests wait.
penstock.metrics.host | string | 127.0.0.1 | non-empty | low
    The address on which metrics and health are served over HTTP.
penstock.metrics.port | int | -1 | -1 .. 65535 | low
    The port for metrics and health: -1 serves none, 0 takes any free one.
penstock.metrics.user | string | | | low
    The user that whoever reads metrics over HTTP must name; empty: anybody may.
penstock.metrics.password | password | null | | low
    That user's password.
penstock.metrics.tls | boolean | false | | low
    Whether metrics and health are served over TLS, with the certificates of the `ssl.*` settings.
penstock.log.format | string | text | one of: text json | low
    How a node says what happens: lines for people, or objects with the fields time, level, node, component, text.
penstock.disk.full.ratio | double | 0.9 | 0 .. 1 | medium
    How full the disk may get before writes are refused while reads and deletions go on.
penstock.scrub.bytes.per.second | long | 2097152 | >= 0 | medium
    How fast sealed segments are read in the background and compared with their checksums; 0 is not at all.
penstock.acks.required | string | any | one of: any all | medium cluster-wide
    What producers must ask for: with `all`, those that ask for acks 0 or 1 get INVALID_REQUIRED_ACKS.
penstock.audit.enable | boolean | false | | medium cluster-wide
    Whether changes of the cluster, refusals and failed authentications are written to the topic `__penstock_audit`.
penstock.audit.bytes.max | long | 104857600 | >= 10485760 | medium cluster-wide
    How many bytes of the audit trail are kept; it says so of the topic when that is made.
penstock.policy.topic.name.pattern | string | | expression | medium cluster-wide
    What the names of new topics must be like, from end to end; empty: like any.
penstock.policy.topic.partitions.max | int | 2147483647 | >= 1 | medium cluster-wide
    How many partitions a topic may be given.
penstock.policy.replication.factor.min | int | 1 | >= 1 | medium cluster-wide
    How many replicas a new topic must have at least; the topics of the cluster itself are not held to it.
penstock.tenants | list | | tenants | medium cluster-wide
    Who owns topics of some prefix, and how many partitions these may have together; `penstock tenant` sets it.
penstock.encryption.keys.file | string | | | medium
    A file of keys that encrypt what this node keeps: in each line a name, a blank, and 32 bytes in base64.
penstock.encryption.keys.command | string | | | medium
    Or a command that prints such lines; the last key of them encrypts new files, the others open older ones.
penstock.encryption.keys.refresh.ms | long | 60000 | >= 100 | low
    How often a running node looks whether there are newer keys.
penstock.sealed.compression.type | string | none | one of: none gzip snappy lz4 zstd | medium cluster-wide
    The codec into which sealed segments are compressed where producers did not, at its `compression.*.level`.
penstock.batch.validation | string | header | one of: header records | medium cluster-wide
    Whether a batch is taken by its header and checksum, or only once each of its records was read, as Kafka does.
penstock.key.schema.validation | string | off | one of: off id payload | medium cluster-wide
    Whether keys must name a schema that the registry has under their subject (`id`), and be what it says (`payload`).
penstock.value.schema.validation | string | off | one of: off id payload | medium cluster-wide
    Whether values must name a schema that the registry has under their subject (`id`), and be what it says (`payload`).
penstock.key.subject.name.strategy | string | topic | one of: topic record topic-record | medium cluster-wide
    Under which subject the schema of a key has to be: the topic's, the record's by its full name, or that of both.
penstock.value.subject.name.strategy | string | topic | one of: topic record topic-record | medium cluster-wide
    Under which subject the schema of a value has to be: the topic's, the record's by its full name, or that of both.
penstock.schema.validation.on.failure | string | reject | one of: reject dlq | medium cluster-wide
    What becomes of records that do not fit: their batch is refused, or they go to the topic of that name and `.dlq`.
penstock.batch.records.max | int | 1000000 | >= 1 | medium cluster-wide
    The most records of one batch; producers that can, send more of them in several batches.
penstock.batch.unpacked.bytes.max | long | 67108864 | 1024 .. 134217728 | medium cluster-wide
    How many bytes the records of a batch may unpack to where the broker has to read them.
penstock.batch.inline.bytes.max | int | 16384 | >= 0 | low
    The largest batch whose records are read where it comes in, and not in a worker process.
penstock.batch.queue.bytes.max | long | 67108864 | >= 1048576 | medium
    How many bytes of batches may wait for their records to be read; producers of more are told to come again.
penstock.producers.per.partition.max | int | 10000 | >= 1 | medium
    How many idempotent producers one partition remembers; those idle longest go first, none with an open transaction.
penstock.producers.max | int | 200000 | >= 1 | medium
    How many idempotent producers the partitions of a broker remember together.
"""
