"""How partitions are shared among members: pure functions, by the names that clients choose them with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.core.groups.consumer.member import Partitions
from penstock.core.groups.consumer.range_assignor import assign_ranges
from penstock.core.groups.consumer.subject import Subject
from penstock.core.groups.consumer.uniform_assignor import assign_uniformly

Assignor = Callable[[Subject], dict[str, Partitions]]

ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniformly, "range": assign_ranges}
"""The first is the default."""
