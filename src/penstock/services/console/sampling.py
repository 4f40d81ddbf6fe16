"""How far groups are behind and how fast topics grow, looked at every few seconds for as long as somebody looks.

A `Sampler` keeps the last hour. It asks with the rights of whom it belongs to, and sees what he sees.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.groups import Groups
from penstock.client.metadata import NO_NODE, TopicPartition
from penstock.client.offsets import LATEST, list_offsets
from penstock.services.console.cluster import Cluster, Picture, pause
from penstock.services.console.standing import offsets_of

EVERY_SECONDS: Final = 10.0
AT_LEAST_SECONDS: Final = 1.0
LOOKED_AT_SECONDS: Final = 3600.0
"""For how long after somebody has looked it goes on."""
SAMPLES_MAX: Final = 360
GROUPS_MAX: Final = 200
NAMED_MAX: Final = 100
"""Groups beyond those, which somebody has looked at."""
PARTITIONS_MAX: Final = 5_000


class Sample(NamedTuple):
    """One look; `ends` are the end offsets of the partitions that were asked for."""

    at: float
    ends: Mapping[TopicPartition, int]
    lags: Mapping[str, int]
    topic_lags: Mapping[str, int]
    """The lag of the group that is furthest behind."""
    readers: Mapping[str, tuple[str, ...]]
    """The groups that have committed offsets of a topic."""


class Sampler:
    """Takes samples while it is wanted."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._wanted_until = 0.0
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._named: deque[str] = deque(maxlen=NAMED_MAX)
        self.samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)

    def newest(self, group: str | None = None) -> Sample | None:
        """The last one, if there is one; from now on there will be more, and `group` is in them."""
        self._wanted_until = time.monotonic() + LOOKED_AT_SECONDS
        if group is not None and group not in self._named:
            self._named.append(group)
            self._woken.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return self.samples[-1] if self.samples else None

    async def _run(self) -> None:
        while time.monotonic() < self._wanted_until:
            await self._take()
            await self._rest()

    async def _rest(self) -> None:
        """Shorter where somebody asks for a group that was not looked at."""
        await pause(AT_LEAST_SECONDS)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), EVERY_SECONDS - AT_LEAST_SECONDS)
        self._woken.clear()

    async def _take(self) -> None:
        try:
            picture = await self._cluster.picture()
            self.samples.append(await self._cluster.ask(lambda client: take(client, picture, tuple(self._named))))
        except ClientError:
            # There is a gap then, which the plot shows.
            return

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def records_per_second(self) -> float | None:
        """Over the last two looks, of all topics; None where that is not known."""
        if len(self.samples) < 2:
            return None
        before, now = self.samples[-2], self.samples[-1]
        if not now.ends:
            return None
        grown = sum(max(0, end - before.ends[where]) for where, end in now.ends.items() if where in before.ends)
        return grown / max(now.at - before.at, 0.001)

    def history(self, group: str) -> list[tuple[float, int | None]]:
        """The lag of a group over time, for a plot."""
        return [(sample.at, sample.lags.get(group)) for sample in self.samples]


def take(client: Client, picture: Picture, named: Iterable[str] = ()) -> Sample:
    """One look at the cluster."""
    found, _ = Groups(client).known()
    kinds = {each.group_id: each.group_type for each in found}
    names = dict.fromkeys((*[each.group_id for each in found[:GROUPS_MAX]], *(name for name in named if name in kinds)))
    committed = {name: offsets_of(client, name, kinds[name]) for name in names}
    wanted = {where for offsets in committed.values() for where in offsets}
    if picture.partitions <= PARTITIONS_MAX:
        wanted |= {
            TopicPartition(topic.name, each.number) for topic in picture.topics.values() for each in topic.partitions
        }
    ends = ends_of(client, picture, wanted)
    lags: dict[str, int] = {}
    topic_lags: dict[str, int] = {}
    readers: dict[str, list[str]] = {}
    for name, offsets in committed.items():
        by_topic = lag_by_topic(offsets, ends)
        lags[name] = sum(by_topic.values())
        for topic, lag in by_topic.items():
            topic_lags[topic] = max(topic_lags.get(topic, 0), lag)
            readers.setdefault(topic, []).append(name)
    return Sample(time.time(), ends, lags, topic_lags, {topic: tuple(each) for topic, each in readers.items()})


def ends_of(client: Client, picture: Picture, wanted: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Of those that somebody leads."""
    led = [where for where in wanted if _is_led(picture, where)]
    return {where: found.offset for where, found in list_offsets(client, dict.fromkeys(led, LATEST)).items()}


def _is_led(picture: Picture, where: TopicPartition) -> bool:
    topic = picture.topics.get(where.topic)
    return (
        topic is not None
        and where.partition < len(topic.partitions)
        and topic.partitions[where.partition].leader != NO_NODE
    )


def lag_by_topic(offsets: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> dict[str, int]:
    lags: dict[str, int] = {}
    for where, offset in offsets.items():
        if where in ends:
            lags[where.topic] = lags.get(where.topic, 0) + max(0, ends[where] - offset)
    return lags
