"""The settings that have no meaning here: a node that is given one says so in a warning and starts."""

from typing import Final

BROKER: Final = (
    (
        "a node is one event loop, so there are no threads or buffers of that kind to size",
        """
        background.threads
        num.io.threads
        num.network.threads
        num.recovery.threads.per.data.dir
        num.replica.alter.log.dirs.threads
        num.replica.fetchers
        group.coordinator.threads
        group.coordinator.background.threads
        group.coordinator.append.linger.ms
        group.coordinator.cached.buffer.max.bytes
        offsets.load.buffer.size
        transaction.state.log.load.buffer.size
        share.coordinator.append.linger.ms
        share.coordinator.cached.buffer.max.bytes
        share.coordinator.load.buffer.size
        share.coordinator.threads
        log.cleaner.threads
        log.cleaner.io.buffer.load.factor
        log.cleaner.io.buffer.size
        """,
    ),
    (
        "waiting requests are bounded by penstock.connection.slots.max and penstock.connection.bytes.max instead",
        """
        queued.max.requests
        fetch.purgatory.purge.interval.requests
        producer.purgatory.purge.interval.requests
        delete.records.purgatory.purge.interval.requests
        share.fetch.purgatory.purge.interval.requests
        """,
    ),
    (
        "metadata is written when it comes, with one sync for all that came meanwhile, and nothing where nothing came",
        """
        controller.quorum.append.linger.ms
        metadata.max.idle.interval.ms
        """,
    ),
    (
        "connections between nodes have two seconds to stand, buffers of the system's size, and limits per question",
        """
        socket.connection.setup.timeout.ms
        socket.connection.setup.timeout.max.ms
        controller.socket.timeout.ms
        replica.socket.receive.buffer.bytes
        """,
    ),
    (
        "high watermarks are stored together with recovery points, every log.flush.offset.checkpoint.interval.ms",
        """
        replica.high.watermark.checkpoint.interval.ms
        """,
    ),
    (
        "throttled replication may save up what it is allowed in one second, and is not sampled",
        """
        replication.quota.window.num
        replication.quota.window.size.seconds
        """,
    ),
    (
        "a node has one log directory, so nothing moves between directories",
        """
        log.dir.failure.timeout.ms
        alter.log.dirs.replication.quota.window.num
        alter.log.dirs.replication.quota.window.size.seconds
        replica.alter.log.dirs.io.max.bytes.per.second
        """,
    ),
    (
        "of the metadata the two newest snapshots and the log since the older one are kept, the rest goes at once",
        """
        metadata.max.retention.bytes
        metadata.max.retention.ms
        internal.metadata.delete.delay.millis
        """,
    ),
    (
        "what one decision writes into the metadata log is one batch, and plans are bounded by themselves",
        """
        internal.metadata.max.batch.size.in.bytes
        """,
    ),
    (
        "compaction runs beside the node, in a process of its own, and its reads and writes are not counted",
        """
        log.cleaner.io.max.bytes.per.second
        """,
    ),
    (
        "each task waits for its own interval, also the first time",
        """
        log.initial.task.delay.ms
        """,
    ),
    (
        "segment files grow as they are written",
        """
        log.preallocate
        """,
    ),
    (
        "metrics are served at /metrics, without Java reporters",
        """
        metric.reporters
        metrics.num.samples
        metrics.recording.level
        metrics.sample.window.ms
        kafka.metrics.reporters
        kafka.metrics.polling.interval.secs
        controller.performance.sample.period.ms
        controller.performance.always.log.threshold.ms
        """,
    ),
    (
        "controllers listen before access rules are known, and serve super users until then; brokers listen after that",
        """
        early.start.listeners
        """,
    ),
    (
        "what a node offers is fixed by what is built into it",
        """
        server.max.startup.time.ms
        unstable.feature.versions.enable
        """,
    ),
    (
        "what is built in is served; patterns are matched again when topics change",
        """
        group.coordinator.rebalance.protocols
        group.consumer.regex.refresh.interval.ms
        """,
    ),
    (
        "streams groups have the broker's intervals and timeouts, and no settings of their own yet",
        """
        group.streams.max.assignment.interval.ms
        group.streams.max.heartbeat.interval.ms
        group.streams.max.session.timeout.ms
        group.streams.max.standby.replicas
        group.streams.min.assignment.interval.ms
        group.streams.min.heartbeat.interval.ms
        group.streams.min.session.timeout.ms
        """,
    ),
    (
        "share groups have one assignor, simple, and their state is kept by share coordinators",
        """
        group.share.assignors
        group.share.persister.class.name
        """,
    ),
    (
        "without tiered storage there is no remote store to tune",
        """
        follower.fetch.last.tiered.offset.enable
        log.local.retention.ms
        log.local.retention.bytes
        remote.fetch.max.wait.ms
        remote.list.offsets.request.timeout.ms
        remote.log.index.file.cache.total.size.bytes
        remote.log.index.file.cache.ttl.ms
        remote.log.manager.copier.thread.pool.size
        remote.log.manager.expiration.thread.pool.size
        remote.log.manager.follower.thread.pool.size
        remote.log.manager.thread.pool.size
        remote.log.manager.copy.max.bytes.per.second
        remote.log.manager.copy.quota.window.num
        remote.log.manager.copy.quota.window.size.seconds
        remote.log.manager.fetch.max.bytes.per.second
        remote.log.manager.fetch.quota.window.num
        remote.log.manager.fetch.quota.window.size.seconds
        remote.log.manager.task.interval.ms
        remote.log.manager.task.retry.backoff.ms
        remote.log.manager.task.retry.backoff.max.ms
        remote.log.manager.task.retry.jitter
        remote.log.metadata.custom.metadata.max.bytes
        remote.log.metadata.manager.class.name
        remote.log.metadata.manager.class.path
        remote.log.metadata.manager.impl.prefix
        remote.log.metadata.manager.listener.name
        remote.log.reader.max.pending.tasks
        remote.log.reader.threads
        remote.log.storage.manager.class.name
        remote.log.storage.manager.class.path
        remote.log.storage.manager.impl.prefix
        """,
    ),
    (
        "the newest version that both sides know is spoken, of those in ssl.enabled.protocols",
        """
        ssl.protocol
        """,
    ),
    (
        "certificates are renewed by whoever may write their files, or the settings: with any name",
        """
        ssl.allow.dn.changes
        ssl.allow.san.changes
        """,
    ),
)
TOPIC: Final = (
    (
        "segment files grow as they are written",
        """
        preallocate
        """,
    ),
    (
        "without tiered storage there is no remote store to tune",
        """
        local.retention.bytes
        local.retention.ms
        remote.log.copy.disable
        remote.log.delete.on.disable
        """,
    ),
)
GROUP: Final = (
    (
        "streams groups have the broker's intervals and timeouts, and no settings of their own yet",
        """
        streams.assignment.interval.ms
        streams.heartbeat.interval.ms
        streams.initial.rebalance.delay.ms
        streams.num.standby.replicas
        streams.session.timeout.ms
        """,
    ),
)
