"""What an application is made of, as its first member says it: subtopologies, and the topics between them."""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.core.wire.stored import streams_group as stored


class InternalTopic(NamedTuple):
    """A topic that the group creates: of 0 partitions or copies, others decide how many."""

    name: str
    partitions: int
    copies: int
    configs: tuple[tuple[str, str], ...]


class CopartitionGroup(NamedTuple):
    """Topics that need the same number of partitions, by where they stand in the lists of their subtopology."""

    sources: tuple[int, ...]
    repartition_sources: tuple[int, ...]


class Subtopology(NamedTuple):
    """A part of the application; it has a task for each partition of what it reads."""

    name: str
    sources: tuple[str, ...]
    repartition_sinks: tuple[str, ...]
    repartition_sources: tuple[InternalTopic, ...]
    changelogs: tuple[InternalTopic, ...]
    copartition_groups: tuple[CopartitionGroup, ...]

    @property
    def read(self) -> tuple[str, ...]:
        return (*self.sources, *(each.name for each in self.repartition_sources))

    @property
    def topics(self) -> tuple[str, ...]:
        return (*self.read, *(each.name for each in self.changelogs))

    def copartitioned(self) -> list[frozenset[str]]:
        """The same groups by name."""
        return [
            frozenset(
                [
                    *(self.sources[each] for each in group.sources),
                    *(self.repartition_sources[each].name for each in group.repartition_sources),
                ]
            )
            for group in self.copartition_groups
        ]


class Topology(NamedTuple):
    """The whole application."""

    epoch: int
    subtopologies: tuple[Subtopology, ...]

    @property
    def topics(self) -> frozenset[str]:
        return frozenset(name for each in self.subtopologies for name in each.topics)


def read(said: Any) -> Topology:
    """Of a heartbeat or of a record: both have the same fields."""
    parts = sorted(said.subtopologies, key=lambda each: str(each.subtopology_id))
    return Topology(said.epoch, tuple(_subtopology(each) for each in parts))


def _subtopology(said: Any) -> Subtopology:
    return Subtopology(
        name=said.subtopology_id,
        sources=tuple(said.source_topics),
        repartition_sinks=tuple(sorted(said.repartition_sink_topics)),
        repartition_sources=tuple(map(_internal, said.repartition_source_topics)),
        changelogs=tuple(map(_internal, said.state_changelog_topics)),
        copartition_groups=tuple(
            CopartitionGroup(tuple(each.source_topics), tuple(each.repartition_source_topics))
            for each in said.copartition_groups
        ),
    )


def _internal(said: Any) -> InternalTopic:
    configs = tuple(sorted((each.key, each.value) for each in said.topic_configs))
    return InternalTopic(said.name, said.partitions, said.replication_factor, configs)


def written(topology: Topology) -> stored.StreamsGroupTopologyValue:
    return stored.StreamsGroupTopologyValue(
        epoch=topology.epoch,
        subtopologies=[
            stored.Subtopology(
                subtopology_id=each.name,
                source_topics=[*each.sources],
                repartition_sink_topics=[*each.repartition_sinks],
                repartition_source_topics=[_stored(topic) for topic in each.repartition_sources],
                state_changelog_topics=[_stored(topic) for topic in each.changelogs],
                copartition_groups=[
                    stored.CopartitionGroup(
                        source_topics=[*group.sources], repartition_source_topics=[*group.repartition_sources]
                    )
                    for group in each.copartition_groups
                ],
            )
            for each in topology.subtopologies
        ],
    )


def _stored(topic: InternalTopic) -> stored.TopicInfo:
    return stored.TopicInfo(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.copies,
        topic_configs=[stored.TopicConfig(key=key, value=value) for key, value in topic.configs],
    )
