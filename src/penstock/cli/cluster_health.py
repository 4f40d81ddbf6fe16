"""`penstock cluster health`: what is wrong, by name, and a map of all partitions; exits with 0 only if all is well."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.cluster_picture import fresh_topics
from penstock.cli.health_report import Look, complaint_of, facts_of, show
from penstock.cli.looking import look_on, wait_for
from penstock.cli.output import Output, json_text, print_json
from penstock.cli.session import (
    DEFAULT_BOOTSTRAP,
    TIMEOUT_SECONDS,
    Bootstrap,
    OutputOption,
    Timeout,
    check_timeout,
    connect,
)
from penstock.client.admin import Admin
from penstock.client.blocking import Client
from penstock.client.draining import Drains
from penstock.client.health import assess
from penstock.client.metadata import NO_NODE, TopicView
from penstock.client.moving import Mover
from penstock.client.quorum import known_quorum, registered_brokers

MIN_INSYNC = "min.insync.replicas"
WATCH_SECONDS = 2.0


def health(
    internal: Annotated[bool, typer.Option("--internal", help="Draw the cluster's own topics too.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Draw every topic, however many there are.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the cluster is well, as long as --timeout says.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again and again, until ctrl-c.")] = False,
    interval: Annotated[
        float,
        typer.Option("--interval", metavar="SECONDS", callback=check_timeout, help="How often --watch looks."),
    ] = WATCH_SECONDS,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Say whether the cluster is well, and draw its partitions; exits with 1 if something is wrong."""
    if wait and watch:
        raise typer.BadParameter("--wait ends when all is well, and --watch does not end: give one of them")

    def tell(look: Look) -> None:
        if output is Output.TABLE:
            show(look, internal=internal, everything=everything)
        elif watch:
            print(json_text(facts_of(look)), flush=True)
        else:
            print_json(facts_of(look))

    with connect(bootstrap, timeout) as client:
        if watch:
            look_on(lambda: look_at_health(client), tell, interval)
        look = wait_for(lambda: look_at_health(client), complaint_of, timeout) if wait else look_at_health(client)
    tell(look)
    if not look.found.is_healthy:
        raise typer.Exit(1)


def look_at_health(client: Client) -> Look:
    with client.within(client.timeout):
        brokers, topics, quorum = registered_brokers(client), fresh_topics(client), known_quorum(client)
        # Only a controller knows what is moving.
        moving = {} if quorum.leader == NO_NODE else Mover(client).under_way()
        adding = {where: each.adding for where, each in moving.items()}
        alive = [broker.node_id for broker in brokers if not broker.is_fenced]
        full = Admin(client).full_brokers(alive)
        drained = Drains(client).of(alive)
        found = assess(topics, brokers, quorum, _min_insync(client, topics), adding, full, drained)
    return Look(found, brokers, topics, quorum)


def _min_insync(client: Client, topics: list[TopicView]) -> dict[str, int]:
    """What each topic asks for."""
    found = Admin(client).topic_setting([topic.name for topic in topics], MIN_INSYNC)
    return {name: int(value) for name, value in found.items() if value}
