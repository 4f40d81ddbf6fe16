"""An application and the topics there are: how many tasks it has, which topics it lacks, and what is wrong with them.

A repartition topic has as many partitions as what is written into it was read from, unless it says how many, or has to
be like others (co-partitioning). A changelog topic has one for each task.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.streams.topology import InternalTopic, Subtopology, Topology
from penstock.core.groups.topics import TopicLookup

STALE_TOPOLOGY: Final = 0
MISSING_SOURCE_TOPICS: Final = 1
INCORRECTLY_PARTITIONED_TOPICS: Final = 2
MISSING_INTERNAL_TOPICS: Final = 3
SHUTDOWN_APPLICATION: Final = 4
ASSIGNMENT_DELAYED: Final = 5
_SHOWN_MAX: Final = 3


class Told(NamedTuple):
    """What a member hears beside its tasks."""

    code: int
    detail: str


class Configured(NamedTuple):
    """What came of it. Without tasks nothing can be assigned."""

    tasks: dict[str, int]
    """How many each subtopology has."""
    internal: dict[str, InternalTopic]
    """With the number of partitions each is to have."""
    missing: tuple[str, ...]
    """Internal topics that are to be created."""
    trouble: Told | None

    @property
    def is_ready(self) -> bool:
        return self.trouble is None


class _Trouble(Exception):
    def __init__(self, code: int, detail: str) -> None:
        self.told = Told(code, detail)


def configure(topology: Topology, lookup: TopicLookup) -> Configured:
    """Raises ApiError where no topics would ever fit."""
    try:
        return _Configuring(topology, lookup).done()
    except _Trouble as trouble:
        return Configured({}, {}, (), trouble.told)


class _Configuring:
    """One look at them. `_decided` has the partitions of internal topics, whether or not they exist."""

    def __init__(self, topology: Topology, lookup: TopicLookup) -> None:
        self._parts = topology.subtopologies
        self._lookup = lookup
        self._decided: dict[str, int] = {}

    def done(self) -> Configured:
        missing = sorted({each for part in self._parts for each in part.sources if self._lookup.id_of(each) is None})
        if missing:
            raise _Trouble(MISSING_SOURCE_TOPICS, f"Source topics {_some(missing)} are missing.")
        self._decide_repartitions()
        self._even_out()
        tasks = {part.name: self._width(part) for part in self._parts}
        for part in self._parts:
            self._decided.update(dict.fromkeys((each.name for each in part.changelogs), tasks[part.name]))
        internal = {
            each.name: each._replace(partitions=each.partitions or self._decided[each.name])
            for part in self._parts
            for each in (*part.repartition_sources, *part.changelogs)
        }
        names = tuple(sorted(each.name for each in internal.values() if not self._fits(each)))
        told = Told(MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {_some([*names])}") if names else None
        return Configured(tasks, internal, names, told)

    def _decide_repartitions(self) -> None:
        sources = [each for part in self._parts for each in part.repartition_sources]
        self._decided.update({each.name: each.partitions for each in sources if each.partitions})
        while open_parts := [part for part in self._parts if set(part.repartition_sinks) - self._decided.keys()]:
            known = len(self._decided)
            for part in open_parts:
                counts = [found for each in part.read if (found := self._count(each))]
                for name in set(part.repartition_sinks) - self._decided.keys() if counts else ():
                    self._decided[name] = max(counts)
            if len(self._decided) == known:
                raise _invalid(
                    "Failed to compute number of partitions for all repartition topics. There may be loops in the "
                    "topology that cannot be resolved."
                )
        if any(each.name not in self._decided for each in sources):
            raise _invalid(
                "Failed to compute number of partitions for all repartition topics, because a repartition source topic "
                "is never used as a sink topic."
            )

    def _even_out(self) -> None:
        sources = [each for part in self._parts for each in part.repartition_sources]
        fixed = {each.name for each in sources if each.partitions}
        for group in (each for part in self._parts for each in part.copartitioned() if each):
            inner = sorted(group & {each.name for each in sources})
            outer = sorted(group - set(inner))
            counts = {each: self._count(each) for each in outer or sorted(group & fixed) or inner}
            if len(set(counts.values())) > 1 and (outer or group & fixed):
                listed = ", ".join(f"{name}={count}" for name, count in counts.items())
                raise _Trouble(
                    INCORRECTLY_PARTITIONED_TOPICS,
                    f"Following topics do not have the same number of partitions: [{{{listed}}}]",
                )
            wanted = max(counts.values())
            for name in inner:
                if name in fixed and self._decided[name] != wanted:
                    raise _Trouble(
                        INCORRECTLY_PARTITIONED_TOPICS,
                        f"Number of partitions [{self._decided[name]}] of repartition topic [{name}] doesn't match "
                        f"number of partitions [{wanted}] of the source topic.",
                    )
                self._decided[name] = wanted

    def _width(self, part: Subtopology) -> int:
        if not part.read:
            raise _invalid(f"No source topics found for subtopology {part.name}")
        return max(map(self._count, part.read))

    def _count(self, name: str) -> int:
        return self._decided.get(name) or self._lookup.partition_count(name) or 0

    def _fits(self, topic: InternalTopic) -> bool:
        """Whether it is there; one with other partitions cannot be helped."""
        found = self._lookup.partition_count(topic.name)
        if found is not None and found != topic.partitions:
            raise _Trouble(
                INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {topic.name} has different number of partitions: expected {topic.partitions}, "
                f"found {found}",
            )
        return found is not None


def _invalid(why: str) -> ApiError:
    return ApiError(ErrorCode.STREAMS_INVALID_TOPOLOGY, why)


def _some(names: list[str]) -> str:
    rest = len(names) - _SHOWN_MAX
    return ", ".join(names[:_SHOWN_MAX]) + (f" and {rest} additional topics" if rest > 0 else "")
