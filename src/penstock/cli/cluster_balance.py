"""`penstock cluster balance`: every broker its share of replicas and leaders, with as little moved as possible."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

import typer

from penstock.cli.cluster_moves import DEFAULT_THROTTLE, Throttle, carry_out, show_plan
from penstock.cli.cluster_picture import Picture, rate_bytes, take_picture
from penstock.cli.output import Output, print_table
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import say
from penstock.client.draining import Drains
from penstock.client.metadata import NO_NODE, TopicPartition
from penstock.client.moving import Mover
from penstock.core.metadata.balancing import Aim, Planner, Shift

COLUMNS = ("broker", "rack", "replicas", "will be", "leaders", "will be led")


def balance(
    execute: Execute = False,
    leaders_only: Annotated[bool, typer.Option("--leaders", help="Only leadership moves, no replicas.")] = False,
    throttle: Throttle = DEFAULT_THROTTLE,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Give leadership back to preferred leaders, and even out replicas and leaders over the brokers."""
    with connect(bootstrap, timeout) as client:
        picture = take_picture(client)
        astray = _astray(picture, Drains(client).of(picture.alive))
        shifts = [] if leaders_only else _plan(picture)
        if output is Output.TABLE:
            _print_shares(picture, shifts)
        show_plan(output, shifts, picture, execute=execute, elections=[str(where) for where in astray])
        if astray:
            say(f"{len(astray)} partitions are not led by their preferred leader{'' if execute else ' yet'}")
        if not shifts and not astray:
            say("every broker has its share")
        elif execute:
            Mover(client).lead_where_preferred(astray)
            if shifts:
                carry_out(client, shifts, rate_bytes(throttle))
            say("the cluster is balanced")


def _astray(picture: Picture, drained: Collection[int]) -> list[TopicPartition]:
    """What the first replica could lead, and may."""
    return [
        TopicPartition(topic.name, each.number)
        for topic in picture.topics
        for each in topic.partitions
        if each.leader not in (NO_NODE, each.replicas[0])
        and each.replicas[0] in each.in_sync
        and each.replicas[0] not in drained
    ]


def _plan(picture: Picture) -> list[Shift]:
    return Planner(picture.sites(), Aim(improve_spread=True)).plan(picture.layouts())


def _print_shares(picture: Picture, shifts: list[Shift]) -> None:
    after = {(shift.topic, shift.number): shift.after for shift in shifts}
    sets = [(topic.name, each.number, each) for topic in picture.topics for each in topic.partitions]
    rows = []
    for broker in picture.brokers:
        own = broker.node_id
        new = [after.get((name, number), each.replicas) for name, number, each in sets]
        rows.append(
            (
                own,
                broker.rack,
                sum(own in each.replicas for _, _, each in sets),
                sum(own in replicas for replicas in new),
                sum(each.leader == own for _, _, each in sets),
                sum(replicas[0] == own for replicas in new),
            )
        )
    print_table(COLUMNS, rows)
    print()
