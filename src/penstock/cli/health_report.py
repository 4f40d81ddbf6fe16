"""What one look at a cluster came to: a line for each question and a map, or facts for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.cli.cluster_picture import names_text, own_last
from penstock.cli.cluster_quorum import ago
from penstock.cli.partition_map import TOPICS_MAX, print_map
from penstock.cli.talk import say
from penstock.client.health import Health
from penstock.client.metadata import TopicPartition, TopicView
from penstock.client.quorum import Quorum, Registered


class Look(NamedTuple):
    """What was told at one moment, and what follows from it."""

    found: Health
    brokers: list[Registered]
    topics: list[TopicView]
    quorum: Quorum


def show(look: Look, *, internal: bool, everything: bool) -> None:
    found, brokers, topics, quorum = look
    if found.controller is None:
        say("there is no quorum: no controller answers; a majority of the controllers must run")
    _print(found, brokers, quorum)
    print()
    alive = [broker.node_id for broker in brokers if not broker.is_fenced]
    sick = {where.topic for where in (*found.offline, *found.under_min, *found.under_replicated)}
    drawn = [topic for topic in topics if internal or topic.name in sick or not topic.is_internal]
    if drawn:
        print_map(drawn, _drawn_brokers(brokers, drawn), alive, sick, len(drawn) if everything else TOPICS_MAX)
    say("the cluster is well" if found.is_healthy else f"the cluster is not well: {complaint_of(look)}")


def complaint_of(look: Look) -> str:
    """What is wrong, in a few words; empty where nothing is."""
    found = look.found
    parts = [
        "no controller answers" if found.controller is None else "",
        f"behind: {_ids('voter', found.voters_behind)}" if found.voters_behind else "",
        f"fenced: {_ids('broker', found.fenced)}" if found.fenced else "",
        f"disk full: {_ids('broker', found.full)}" if found.full else "",
        f"nothing in sync: {_ids('broker', found.idle)}" if found.idle else "",
        f"{_count(found.offline)} offline" if found.offline else "",
        f"{_count(found.under_min)} under min in sync" if found.under_min else "",
        f"{_count(found.under_replicated)} under-replicated" if found.under_replicated else "",
    ]
    return "; ".join(filter(None, parts))


def facts_of(look: Look) -> dict[str, Any]:
    found, brokers, topics, quorum = look
    partitions = ("offline", "under_min", "under_replicated", "unpreferred", "moving")
    names = {name: [str(where) for where in getattr(found, name)] for name in partitions}
    return {
        "healthy": found.is_healthy,
        "controller": found.controller,
        "voters": [
            {"node": voter.node_id, "lag": quorum.lag(voter), "last_caught_up_ms": quorum.behind_ms(voter)}
            for voter in quorum.voters
        ],
        "voters_behind": list(found.voters_behind),
        "brokers": [broker.node_id for broker in brokers],
        "fenced": list(found.fenced),
        "full": list(found.full),
        "idle": list(found.idle),
        "drained": list(found.drained),
        "partitions": sum(len(topic.partitions) for topic in topics),
        **names,
    }


def _drawn_brokers(brokers: list[Registered], topics: list[TopicView]) -> list[int]:
    """All that are registered, and those that are gone and still have replicas to their name."""
    holding = {replica for topic in topics for each in topic.partitions for replica in each.replicas}
    return sorted(holding | {broker.node_id for broker in brokers})


def _print(found: Health, brokers: list[Registered], quorum: Quorum) -> None:
    """A line for each question; what is wrong stands out by its names."""
    alive = len(brokers) - len(found.fenced)
    leading = [] if found.controller is None else [found.controller]
    lines = (
        ("controller", _ids("node", leading), bool(leading)),
        ("quorum", _quorum_text(found, quorum), bool(quorum.voters) and not found.voters_behind),
        ("brokers", f"{alive} of {len(brokers)} serve" if found.fenced else f"{alive} serve", not found.fenced),
        ("fenced", _ids("broker", found.fenced), not found.fenced),
        ("disk full", _ids("broker", found.full), not found.full),
        ("nothing in sync", _ids("broker", found.idle), not found.idle),
        ("drained", _ids("broker", found.drained), True),
        ("offline", _named(found.offline), not found.offline),
        ("under min in sync", _named(found.under_min), not found.under_min),
        ("under-replicated", _named(found.under_replicated), not found.under_replicated),
        ("not on preferred leader", _named(found.unpreferred), True),
        ("moving", _named(found.moving), True),
    )
    width = max(len(name) for name, _, _ in lines)
    for name, value, is_well in lines:
        print(f"{name:<{width}}  {'' if is_well else '! '}{value or 'none'}", flush=True)


def _quorum_text(found: Health, quorum: Quorum) -> str:
    if not quorum.voters:
        return "no answer"
    if found.voters_behind:
        return f"{len(quorum.voters)} voters; these do not keep up: {_ids('voter', found.voters_behind)}"
    lag = max(quorum.lag(voter) for voter in quorum.voters)
    slowest = max(quorum.behind_ms(voter) or 0 for voter in quorum.voters)
    return f"{len(quorum.voters)} voters, the last is {lag} records behind and caught up {ago(slowest)}"


def _named(places: tuple[TopicPartition, ...]) -> str:
    shown: list[TopicPartition] = sorted(places, key=own_last)
    return f"{_count(places)}: {names_text(shown)}" if places else ""


def _ids(kind: str, ids: Sequence[int]) -> str:
    """Whom it is about: a bare number would look like how many they are."""
    return f"{kind if len(ids) == 1 else f'{kind}s'} {names_text(ids)}" if ids else ""


def _count(places: Sequence[TopicPartition]) -> str:
    return "1 partition" if len(places) == 1 else f"{len(places)} partitions"
