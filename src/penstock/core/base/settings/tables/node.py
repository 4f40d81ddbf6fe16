"""The node itself: its identity, the metadata quorum, requests."""

TABLE = """
# Who this node is
node.id | int | required | >= 0 | high
    The number of this node; the data folder keeps it and a different one is refused.
broker.id | int | -1 | | high
    The older name of node.id; when both are given they must agree.
process.roles | list | required | list of: broker controller | high
    What this process is: a broker, a controller, or both.
broker.rack | string | null | | medium
    The rack or zone this node stands in, shown to clients and used to spread replicas.
# The metadata quorum
controller.listener.names | list | required | list | high
    The listeners that serve controllers and are not offered to clients; the first is the default.
controller.quorum.voters | list | | voters | high
    The fixed set of controllers, each as id@host:port.
controller.quorum.bootstrap.servers | list | | servers | high
    Where to find the controllers of a quorum whose members may change.
controller.quorum.auto.join.enable | boolean | false | | low
    Whether a new controller asks by itself to become a voter.
controller.quorum.election.timeout.ms | int | 500 | >= 0 | high
    How long a controller waits without hearing from a leader before it stands for election.
controller.quorum.election.backoff.max.ms | int | 1000 | >= 0 | high
    The longest wait between elections that nobody won.
controller.quorum.fetch.timeout.ms | int | 1000 | >= 0 | high
    How long a follower or leader of the quorum goes on without a successful fetch.
controller.quorum.fetch.max.bytes | int | 1048576 | >= 1 | low
    The most bytes of metadata one fetch between controllers returns.
controller.quorum.fetch.snapshot.max.bytes | int | 1048576 | >= 1 | low
    The most bytes of a metadata snapshot one request returns.
controller.quorum.request.timeout.ms | int | 1000 | >= 0 | medium
    How long a request between controllers may take.
controller.quorum.retry.backoff.ms | int | 20 | >= 0 | low
    The wait before a failed request between controllers is sent again.
controller.quorum.append.linger.ms | int | 25 | >= 0 | medium
    How long the quorum's leader gathers records before it writes them to disk.
controller.socket.timeout.ms | int | 30000 | | medium
    How long a connection from the controller to a broker may stay silent.
controller.performance.sample.period.ms | long | 60000 | >= 100 | medium hidden
    How often the controller's slow events are summed up in its log.
controller.performance.always.log.threshold.ms | long | 2000 | >= 0 | medium hidden
    The duration from which on every single controller event is logged.
# The metadata log
metadata.log.dir | string | null | | high
    The directory of the metadata log; without it, the first log directory.
metadata.log.segment.bytes | int | 1073741824 | >= 8388608 | high
    The size at which a segment of the metadata log is closed.
metadata.log.segment.ms | long | 604800000 | | high
    The age at which a segment of the metadata log is closed.
metadata.max.retention.bytes | long | 104857600 | | high
    How many bytes of metadata log and snapshots are kept before old ones go.
metadata.max.retention.ms | long | 604800000 | | high
    How long metadata log and snapshots are kept before old ones go.
metadata.max.idle.interval.ms | int | 500 | >= 0 | low
    How often an idle controller writes an empty record, so that followers see progress.
metadata.log.max.record.bytes.between.snapshots | long | 20971520 | >= 1 | high
    The bytes of new metadata after which a snapshot is written.
metadata.log.max.snapshot.interval.ms | long | 3600000 | >= 0 | high
    The time after which a snapshot is written if there is anything new.
internal.metadata.log.segment.bytes | int | null | | low hidden
    A segment size of the metadata log below the usual minimum, for tests.
internal.metadata.max.batch.size.in.bytes | int | 8388608 | | low hidden
    The largest batch of the metadata log, for tests.
internal.metadata.delete.delay.millis | long | 60000 | | low hidden
    How long a removed file of the metadata log stays on disk, for tests.
# Membership of brokers
broker.heartbeat.interval.ms | int | 150 | | medium
    How often a broker tells the controller that it is alive.
broker.session.timeout.ms | int | 1500 | | medium
    How long a broker may be silent before the controller takes its partitions away.
initial.broker.registration.timeout.ms | int | 60000 | | medium
    How long a starting broker tries to register with a controller before it gives up.
controlled.shutdown.enable | boolean | true | | medium
    Whether a broker hands its leaderships over before it stops.
server.max.startup.time.ms | long | 9223372036854775807 | >= 0 | medium hidden
    How long a start may take before the process gives up.
unstable.api.versions.enable | boolean | false | | high hidden
    Whether versions of requests that are still in development are offered.
unstable.feature.versions.enable | boolean | false | | high hidden
    Whether versions of features that are still in development may be used.
# Threads, requests, classes
background.threads | int | 10 | >= 1 | high cluster-wide
    The threads for work in the background.
num.io.threads | int | 8 | >= 1 | high cluster-wide
    The threads that work on requests.
request.timeout.ms | int | 30000 | | high
    How long this node waits for an answer to a request of its own.
config.providers | list | | list or empty | low cluster-wide
    Names of Java classes that fill in placeholders inside values.
create.topic.policy.class.name | class | null | | low
    A Java class that may turn down the creation of a topic.
alter.config.policy.class.name | class | null | | low
    A Java class that may turn down a change of settings.
auto.create.topics.enable | boolean | true | | high
    Whether asking for a topic that is not there creates it.
delete.topic.enable | boolean | true | | high
    Whether topics may be deleted at all.
num.partitions | int | 1 | >= 1 | medium
    The partitions of a topic that is created without saying how many.
"""
