"""`penstock cluster health`: what is wrong, by name, and a map of all partitions; exits with 0 only if all is well."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.cli.cluster_picture import fresh_topics, names_text
from penstock.cli.cluster_quorum import ago
from penstock.cli.output import Output, print_json
from penstock.cli.partition_map import TOPICS_MAX, print_map
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import say
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError, Unreachable
from penstock.client.health import Health, assess
from penstock.client.metadata import NO_NODE, TopicView
from penstock.client.moving import Mover
from penstock.client.quorum import Quorum, Registered, describe_quorum, registered_brokers

MIN_INSYNC = "min.insync.replicas"


def health(
    internal: Annotated[bool, typer.Option("--internal", help="Draw the cluster's own topics too.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Draw every topic, however many there are.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Say whether the cluster is well, and draw its partitions; exits with 1 if something is wrong."""
    with connect(bootstrap, timeout) as client:
        brokers, topics, quorum = registered_brokers(client), fresh_topics(client), _quorum(client)
        # Only a controller knows what is moving.
        moving = {} if quorum.leader == NO_NODE else Mover(client).under_way()
        adding = {where: each.adding for where, each in moving.items()}
        alive = [broker.node_id for broker in brokers if not broker.is_fenced]
        full = Admin(client).full_brokers(alive)
        found = assess(topics, brokers, quorum, _min_insync(client, topics), adding, full)
    if output is Output.JSON:
        print_json(_facts(found, brokers, quorum, topics))
    else:
        _print(found, brokers, quorum)
        print()
        sick = {where.topic for where in (*found.offline, *found.under_min, *found.under_replicated)}
        drawn = [topic for topic in topics if internal or topic.name in sick or not topic.is_internal]
        if drawn:
            print_map(drawn, _drawn_brokers(brokers, drawn), alive, sick, len(drawn) if everything else TOPICS_MAX)
        say("the cluster is well" if found.is_healthy else "the cluster is not well")
    if not found.is_healthy:
        raise typer.Exit(1)


def _quorum(client: Client) -> Quorum:
    """A cluster without a controller is what this command is for."""
    try:
        return describe_quorum(client)
    except Unreachable:
        raise
    except ClientError as failure:
        say(f"no controller answers ({failure})")
        return Quorum(NO_NODE, NO_NODE, NO_NODE, (), ())


def _min_insync(client: Client, topics: list[TopicView]) -> dict[str, int]:
    """What each topic asks for."""
    found = Admin(client).topic_setting([topic.name for topic in topics], MIN_INSYNC)
    return {name: int(value) for name, value in found.items() if value}


def _drawn_brokers(brokers: list[Registered], topics: list[TopicView]) -> list[int]:
    """All that are registered, and those that are gone and still have replicas to their name."""
    holding = {replica for topic in topics for each in topic.partitions for replica in each.replicas}
    return sorted(holding | {broker.node_id for broker in brokers})


def _facts(found: Health, brokers: list[Registered], quorum: Quorum, topics: list[TopicView]) -> dict[str, Any]:
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
        "partitions": sum(len(topic.partitions) for topic in topics),
        **names,
    }


def _print(found: Health, brokers: list[Registered], quorum: Quorum) -> None:
    """A line for each question; what is wrong stands out by its names."""
    alive = len(brokers) - len(found.fenced)
    lines = (
        ("controller", "none" if found.controller is None else str(found.controller), found.controller is not None),
        ("quorum", _quorum_text(found, quorum), bool(quorum.voters) and not found.voters_behind),
        ("brokers", f"{alive} of {len(brokers)} serve" if found.fenced else f"{alive} serve", not found.fenced),
        ("fenced", names_text(found.fenced), not found.fenced),
        ("disk full", names_text(found.full), not found.full),
        ("nothing in sync", names_text(found.idle), not found.idle),
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
        return f"{len(quorum.voters)} voters, of which {names_text(found.voters_behind)} cannot keep up"
    lag = max(quorum.lag(voter) for voter in quorum.voters)
    slowest = max(quorum.behind_ms(voter) or 0 for voter in quorum.voters)
    return f"{len(quorum.voters)} voters, the last is {lag} records behind and caught up {ago(slowest)}"


def _named(places: tuple[object, ...]) -> str:
    return f"{len(places)}: {names_text(places)}" if places else ""
