"""What an operator may tune about groups, with Kafka's defaults."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.base.values import frozen

_MINUTE_MS = 60_000
_DAY_MS = 24 * 60 * _MINUTE_MS


@frozen
class MemberSettings:
    """What a group's members are held to, and its assignments; each field beside the end of its key."""

    session_timeout_ms: int = 45_000  # session.timeout.ms
    heartbeat_interval_ms: int = 5_000  # heartbeat.interval.ms
    assignment_interval_ms: int = 1_000  # assignment.interval.ms


@frozen
class GroupSettings:
    """Each field carries the value of the broker key named beside it."""

    session_timeout_ms_min: int = 6_000  # group.min.session.timeout.ms
    session_timeout_ms_max: int = 30 * _MINUTE_MS  # group.max.session.timeout.ms
    initial_rebalance_delay_ms: int = 3_000  # group.initial.rebalance.delay.ms
    group_members_max: int = 2**31 - 1  # group.max.size
    offset_metadata_chars_max: int = 4096  # offset.metadata.max.bytes, which Kafka compares with characters
    offsets_retention_ms: int = 7 * _DAY_MS  # offsets.retention.minutes
    batch_bytes_max: int = 1_048_588  # message.max.bytes, which bounds what one request may write
    consumer_members_max: int = 2**31 - 1  # group.consumer.max.size
    consumer_migration_policy: str = "bidirectional"  # group.consumer.migration.policy, in lower case
    consumer_assignors: tuple[str, ...] = ("uniform", "range")  # group.consumer.assignors
    share_members_max: int = 200  # group.share.max.size
    share_initialize_retry_ms: int = 30_000  # group.share.initialize.retry.interval.ms
    # What single groups may say for themselves, as it is now.
    consumer: Callable[[str], MemberSettings] = lambda _: MemberSettings()  # consumer.*, or group.consumer.*
    share: Callable[[str], MemberSettings] = lambda _: MemberSettings()  # share.*, or group.share.*
    streams_session_timeout_ms: int = 45_000  # group.streams.session.timeout.ms
    streams_heartbeat_interval_ms: int = 5_000  # group.streams.heartbeat.interval.ms
    streams_members_max: int = 2**31 - 1  # group.streams.max.size
    streams_initial_rebalance_delay_ms: int = 3_000  # group.streams.initial.rebalance.delay.ms
    streams_standbys: int = 0  # group.streams.num.standby.replicas
    streams_assignment_interval_ms: Callable[[], int] = lambda: (
        1_000
    )  # group.streams.assignment.interval.ms, as it is now
    # The rest are not broker keys. A sweep hands out its tombstones in batches of about this many.
    sweep_records_max: int = 1_000
    # A newcomer does not know its member id before the reply, so it cannot send heartbeats; this
    # bounds how long a joiner that went away keeps its place.
    new_member_join_timeout_ms: int = 5 * _MINUTE_MS

    @property
    def upgrades(self) -> bool:
        """Whether a live classic group becomes one whose coordinator assigns."""
        return self.consumer_migration_policy in ("bidirectional", "upgrade")

    @property
    def downgrades(self) -> bool:
        return self.consumer_migration_policy in ("bidirectional", "downgrade")

    @property
    def mixes(self) -> bool:
        """Whether members of both protocols may be in one group."""
        return self.consumer_migration_policy != "disabled"
