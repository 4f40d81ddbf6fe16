"""Which resources an API touches, and with which operation, in the numbers that Kafka's ACLs have on the wire.

An API says this of itself (`Api.touches`), so that whoever authorizes, answers what a client may do, or writes the page
about it reads one place.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.access.words import CLUSTER_NAME as CLUSTER_NAME
from penstock.core.access.words import KNOWN
from penstock.core.access.words import Operation as Operation
from penstock.core.access.words import Resource as Resource


class Touches(NamedTuple):
    """An operation on a resource. `at` says where a request names it, as the path of a field; the cluster has no name,
    and of what only an answer names there is no path. Where several alternatives lead to the same thing, `unless` is
    the one that makes this one unnecessary."""

    operation: Operation
    resource: Resource
    at: str = ""
    unless: Touches | None = None

    @property
    def text(self) -> str:
        """`WRITE TOPIC`, for people."""
        own = f"{self.operation.name} {self.resource.name}"
        return own if self.unless is None else f"{self.unless.text} or {own}"


def on_cluster(operation: Operation) -> tuple[Touches, ...]:
    return (Touches(operation, Resource.CLUSTER),)


def on_topics(operation: Operation, *paths: str) -> tuple[Touches, ...]:
    return tuple(Touches(operation, Resource.TOPIC, path) for path in paths)


def on_groups(operation: Operation, *paths: str) -> tuple[Touches, ...]:
    return tuple(Touches(operation, Resource.GROUP, path) for path in paths)


def on_transactional_ids(operation: Operation, *paths: str) -> tuple[Touches, ...]:
    return tuple(Touches(operation, Resource.TRANSACTIONAL_ID, path) for path in paths)


NOTHING: tuple[Touches, ...] = ()
CLUSTER_ACTION = on_cluster(Operation.CLUSTER_ACTION)
"""What only nodes may do."""


def bits(resource: Resource) -> int:
    """All operations that a resource knows, as the bit field that clients are told."""
    return sum(1 << operation for operation in KNOWN[resource])
