"""How the cluster is: what needs attention, why, and what to do; and the figures of the moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from penstock.client.metadata import TopicPartition
from penstock.services.console.looks import Look, look
from penstock.services.console.page import Page, Visit

LOOK_SECONDS: Final = 5.0
NAMED_MAX: Final = 5
DISK_SHARE_MAX: Final = 0.85
LAG_MAX: Final = 1_000_000
GROUPS_SHOWN_MAX: Final = 10


class Concern(NamedTuple):
    """Something that needs attention; `level` is bad where data cannot be read or written."""

    level: str
    what: str
    why: str
    todo: str


async def overview(visit: Visit) -> Response:
    picture = await visit.picture()
    found = await visit.cluster.remembered("look", LOOK_SECONDS, lambda client: look(client, picture))
    sample = visit.sampler.newest()
    lags = {} if sample is None else dict(sample.lags)
    concerns = [*concerns_of(found), *_behind(lags)]
    values: dict[str, Any] = {
        "picture": picture,
        "look": found,
        "concerns": concerns,
        "rate": visit.sampler.records_per_second(),
        "lags": sorted(lags.items(), key=lambda each: -each[1])[:GROUPS_SHOWN_MAX],
        "is_sampled": sample is not None,
        "topics": sum(1 for topic in picture.topics.values() if not topic.is_internal),
    }
    return visit.either("overview", **values)


def concerns_of(found: Look) -> Iterator[Concern]:
    """Each with its reason and a remedy, the worst first."""
    health = found.health
    if health.controller is None:
        yield Concern(
            "bad",
            "there is no active controller",
            "topics cannot be made or changed, and no new leaders are chosen",
            "start the controllers that are away: more than half of them must run",
        )
    if health.offline:
        yield Concern(
            "bad",
            f"{_some(health.offline)} cannot be read or written",
            "no replica that has everything is there",
            "start the brokers that hold them",
        )
    if health.under_min:
        yield Concern(
            "bad",
            f"{_some(health.under_min)} refuse writes with acks=all",
            "fewer replicas are in sync than min.insync.replicas asks for",
            "start the brokers that are away, and see whether their disks and networks keep up",
        )
    if health.under_replicated:
        yield Concern(
            "warn",
            f"{_some(health.under_replicated)} lack a copy",
            "a replica is away, or cannot keep up with its leader",
            "start the brokers that are away; they catch up by themselves",
        )
    for brokers, what, why, todo in (
        (health.fenced, "is not let in", "it does not send heartbeats", "see its log, and start it again"),
        (health.voters_behind, "is a voter that lags", "it does not follow the metadata log", "start it, or remove it"),
        (health.idle, "has replicas, and none in sync", "it shuts down, or cannot keep up", "see its log"),
        (found.silent, "does not answer", "its process, its machine or the network is down", "start it again"),
    ):
        if brokers:
            yield Concern("warn", f"{_brokers(brokers)} {what}", why, todo)
    for disk in found.disks:
        if disk.share is not None and disk.share >= DISK_SHARE_MAX:
            yield Concern(
                "bad" if disk.share > 0.95 else "warn",
                f"the disk of broker {disk.broker} is {disk.share:.0%} full",
                f"{disk.path} has little room left; a full broker refuses writes",
                "shorten the retention of large topics, delete records, or add a broker",
            )


def _behind(lags: dict[str, int]) -> Iterator[Concern]:
    for group, lag in lags.items():
        if lag > LAG_MAX:
            yield Concern(
                "warn",
                f"group {group} is {lag:,} records behind",
                "its members are away, stuck, or too slow",
                "see its members, and start more of them",
            )


def _some(places: Sequence[TopicPartition]) -> str:
    # What people have made says more to them than the cluster's own.
    first = sorted(places, key=lambda where: where.topic.startswith("__"))[:NAMED_MAX]
    named = ", ".join(map(str, first))
    count = f"{len(places)} partitions" if len(places) > 1 else "1 partition"
    return f"{count} ({named}{', ...' if len(places) > NAMED_MAX else ''})"


def _brokers(nodes: Sequence[int]) -> str:
    named = ", ".join(map(str, nodes))
    return f"broker {named}" if len(nodes) == 1 else f"each of the brokers {named}"


PAGE: Final = Page("overview", "Overview", "/", "o", {"/": overview})
