"""Where replicas go: spread over brokers, starting at a point that moves on, so that leaders are spread too."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.base.errors import ApiError, ErrorCode


def place(brokers: Sequence[int], partitions: int, replication_factor: int, start: int) -> list[list[int]]:
    """Give the replicas of each new partition, preferred leader first."""
    if replication_factor > len(brokers):
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): "
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(brokers)} broker(s) are registered.",
        )
    count = len(brokers)
    return [
        [brokers[(start + partition + replica) % count] for replica in range(replication_factor)]
        for partition in range(partitions)
    ]


def check_assignment(replicas: Sequence[int], brokers: Sequence[int], expected: int | None) -> None:
    """Refuse a manual assignment that names nobody, someone twice, someone unknown, or the wrong number."""
    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    if not replicas:
        raise ApiError(code, "The manual partition assignment includes an empty replica list.")
    if len(set(replicas)) != len(replicas):
        raise ApiError(code, "The manual partition assignment includes a broker more than once.")
    for replica in replicas:
        if replica not in brokers:
            raise ApiError(
                code, f"The manual partition assignment includes broker {replica}, but no such broker is registered."
            )
    if expected is not None and len(replicas) != expected:
        raise ApiError(
            code,
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), "
            f"but this is not consistent with previous partitions, which have {expected} replica(s).",
        )
