"""What is known of a cluster when it is judged: one look, and of what moves several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penstock.client.admin import LogDir, Setting
from penstock.client.health import Health
from penstock.client.metadata import TopicView
from penstock.client.quorum import Registered


class Sample(NamedTuple):
    """Of the newest records of a topic: how often the keys come that come most often, and how they were written."""

    records: int
    keys: Mapping[bytes, int]
    batches: int
    careless_batches: int
    """Without a producer id: what is sent again after a failure may be there twice."""
    newest_ms: int


class GroupLook(NamedTuple):
    """A group at one moment: its state, its members, how far it is, and how far it could be."""

    state: str
    members: frozenset[str]
    committed: int
    lag: int | None


class Facts(NamedTuple):
    now_ms: int
    health: Health
    topics: Sequence[TopicView]
    """Without the cluster's own."""
    brokers: Sequence[Registered]
    settings: Mapping[str, Mapping[str, Setting]]
    """Of each topic, by name."""
    log_dirs: Sequence[LogDir]
    samples: Mapping[str, Sample]
    groups: Mapping[str, Sequence[GroupLook]]
    clocks_ms: Mapping[str, int]
    """Who, and by how much its clock is ahead of ours; as far as it can be told."""
    unreachable: Mapping[int, str]
    """Brokers that advertise an address at which nobody answers from here, and why."""
