"""For each setting that bounds what clients and tenants may do: what is seen under its default and another value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.core.base.errors import ErrorCode
from tests.settings_act import audit_checks as trail
from tests.settings_act import cluster_checks as cluster
from tests.settings_act import quota_checks as quotas
from tests.settings_act.trial import Flip, Trial

NONE = ErrorCode.NONE


def created(name: str, partitions: int = 1) -> Callable[[Trial], object]:
    return lambda trial: cluster.error_of_creating(trial, name, partitions)


_VIOLATION: Final = ErrorCode.POLICY_VIOLATION
OF_LIMITS: Final[Mapping[str, Flip]] = {
    "penstock.audit.enable": Flip(trail.keeps_changes, ("false", False), ("true", True)),
    "penstock.audit.bytes.max": Flip(trail.bytes_kept, ("104857600", "104857600"), ("20000000", "20000000")),
    "penstock.policy.topic.name.pattern": Flip(created("X"), ("", NONE), ("[a-z]+", _VIOLATION)),
    "penstock.policy.topic.partitions.max": Flip(created("x", 5), ("2147483647", NONE), ("4", _VIOLATION)),
    "penstock.policy.replication.factor.min": Flip(created("x"), ("1", NONE), ("2", _VIOLATION)),
    "penstock.tenants": Flip(created("x", 5), ("", NONE), ("t:x:4", _VIOLATION)),
    "controller.quota.window.num": Flip(quotas.seconds_of_changes_at_once, ("11", 11), ("3", 3)),
    "controller.quota.window.size.seconds": Flip(quotas.seconds_of_changes_at_once, ("1", 11), ("2", 22)),
    "quota.window.num": Flip(quotas.seconds_at_once, ("11", 10), ("4", 3)),
    "quota.window.size.seconds": Flip(quotas.seconds_at_once, ("1", 10), ("2", 21)),
    "max.connection.creation.rate": Flip(quotas.connections_at_once, ("2147483647", quotas.CONNECTIONS), ("1", 11)),
}
