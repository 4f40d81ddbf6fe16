"""`penstock cluster reassign`: other replicas for some partitions; shows the plan, and what is moving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.arguments import at_least
from penstock.cli.cluster_moves import begin, carry_out, involved, show_plan
from penstock.cli.cluster_picture import Picture, numbers_text, parse_brokers, parse_rate, rate_bytes, take_picture
from penstock.cli.cluster_progress import Progress
from penstock.cli.output import Output, print_json, print_rows
from penstock.cli.places import named_places
from penstock.cli.plan_file import read_plan
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.moving import Copies, Mover, Moving
from penstock.core.metadata.balancing import Aim, Planner, Shift

ReplicationFactor = Annotated[
    int | None,
    typer.Option("--replication-factor", metavar="N", callback=at_least(1), help="How many copies of each partition."),
]
MOVING_COLUMNS = ("topic", "partition", "replicas", "adding", "removing")


def reassign(
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help="A plan in Kafka's JSON format.")] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="TOPIC[:0,1]",
            help="A topic, or some of its partitions.",
            autocompletion=completion.topics,
        ),
    ] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="1,2,3", help="The brokers that shall hold it.")] = None,
    replication_factor: ReplicationFactor = None,
    execute: Execute = False,
    throttle: Annotated[
        str | None,
        typer.Option(
            "--throttle",
            metavar="RATE",
            callback=parse_rate,
            help="Bytes per second for each broker, such as 10M. Alone: another rate for what is moving.",
        ),
    ] = None,
    wait_: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until it has moved. Alone: for all that is moving.")
    ] = True,
    list_: Annotated[bool, typer.Option("--list", help="Only list what is moving.")] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Go back to the replicas from before.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Move partitions to other brokers, or change how many copies they have."""
    with connect(bootstrap, timeout) as client:
        if list_ or cancel:
            places = _named(client, file, topic or [])
            _print_moving(output, found := Mover(client).under_way(places))
            if cancel:
                _cancel(client, found, execute=execute)
        elif file is None and not topic:
            _tend(client, output, rate_bytes(throttle))
        else:
            picture = take_picture(client)
            shifts = (
                _from_file(file, picture)
                if file
                else _from_options(client, picture, topic or [], to, replication_factor)
            )
            show_plan(output, shifts, picture, execute=execute)
            if not shifts:
                say("there is nothing to move: everything is where it shall be")
            elif execute:
                _execute(client, shifts, rate_bytes(throttle), waits=wait_)


# Plans


def _from_file(path: str, picture: Picture) -> list[Shift]:
    known = {
        TopicPartition(topic.name, each.number): each.replicas for topic in picture.topics for each in topic.partitions
    }
    brokers = {broker.node_id for broker in picture.brokers}
    shifts = []
    for where, replicas in read_plan(path).items():
        if where not in known:
            raise Refused(f"{path} names {where}, which does not exist", "see `penstock topic list`")
        if unknown := [replica for replica in replicas if replica not in brokers]:
            raise Refused(
                f"{path} puts {where} on broker {numbers_text(unknown)}, which does not exist",
                "see `penstock cluster info`",
            )
        if known[where] != replicas:
            shifts.append(Shift(*where, known[where], replicas))
    return shifts


def _from_options(
    client: Client, picture: Picture, topics: Sequence[str], to: str | None, factor: int | None
) -> list[Shift]:
    if to is None and factor is None:
        raise typer.BadParameter("say where to: --to 1,2,3, or --replication-factor N", param_hint="--topic")
    brokers = {broker.node_id for broker in picture.brokers}
    chosen = set(brokers) if to is None else set(parse_brokers(to, brokers, "--to"))
    places = {place for text in topics for place in named_places(client, text, "--topic")}
    names = {where.topic for where in places}
    layouts = picture.layouts(topic for topic in picture.topics if topic.name in names)
    sites = [site._replace(takes=site.takes and site.id in chosen) for site in picture.sites()]
    planner = Planner(sites, Aim(), leaving=brokers - chosen)
    planner.survey(layouts) if chosen == brokers else planner.plan(layouts)
    moved = {(shift.topic, shift.number): shift for shift in planner.shifts}
    shifts = []
    for layout in layouts:
        for number, before in enumerate(layout.replicas):
            if TopicPartition(layout.topic, number) not in places:
                continue
            after = moved[layout.topic, number].after if (layout.topic, number) in moved else before
            wanted = len(before) if factor is None else factor
            after = planner.resize(tuple(each for each in after if each in chosen) or after[:1], wanted)
            if len(after) < wanted or not set(after) <= chosen:
                raise Refused(
                    f"{len(chosen)} brokers cannot hold {wanted} copies of {layout.topic}-{number}",
                    "name more brokers with --to, or fewer copies with --replication-factor",
                )
            if after != before:
                shifts.append(Shift(layout.topic, number, before, after))
    return shifts


def _execute(client: Client, shifts: Sequence[Shift], throttle: int | None, *, waits: bool) -> None:
    if waits:
        carry_out(client, shifts, throttle)
        say("all of it has moved")
        return
    begin(Mover(client), shifts, throttle)
    say("it has begun: `penstock cluster reassign --list` shows what is moving")
    if throttle is not None:
        say("the throttle stays until `penstock cluster reassign` has seen the end")


# What is moving


def _named(client: Client, file: str | None, topics: Sequence[str]) -> list[TopicPartition] | None:
    if file is not None:
        return list(read_plan(file))
    return [place for text in topics for place in named_places(client, text, "--topic")] or None


def _print_moving(output: Output, moving: dict[TopicPartition, Moving]) -> None:
    if output is Output.JSON:
        print_json(
            [
                {"topic": where.topic, "partition": where.partition}
                | {key: list(value) for key, value in each._asdict().items()}
                for where, each in sorted(moving.items())
            ]
        )
    elif moving:
        rows = [(*where, *(numbers_text(part) or None for part in each)) for where, each in sorted(moving.items())]
        print_rows(output, MOVING_COLUMNS, rows)
    else:
        say("nothing is moving")


def _cancel(client: Client, moving: dict[TopicPartition, Moving], *, execute: bool) -> None:
    if not moving:
        return
    if not execute:
        say("nothing is cancelled yet: add --execute to do it")
        return
    mover = Mover(client)
    mover.cancel(moving)
    copies = _copies(moving)
    mover.unthrottle(copies, involved(copies))
    say(f"cancelled: {len(moving)} partitions are where they were")


def _tend(client: Client, output: Output, throttle: int | None) -> None:
    """No plan is given: look after what is moving already."""
    mover = Mover(client)
    moving = mover.under_way()
    _print_moving(output, moving)
    if not moving:
        return
    copies = _copies(moving)
    if throttle is not None:
        mover.throttle(throttle, copies)
        say(f"{len(moving)} partitions move at no more than {throttle} bytes per second and broker")
        return
    Progress(client, {where: each.adding for where, each in moving.items()}).wait(mover, list(moving))
    mover.unthrottle(copies, involved(copies))
    say("all of it has moved")


def _copies(moving: dict[TopicPartition, Moving]) -> dict[TopicPartition, Copies]:
    return {
        where: Copies(tuple(broker for broker in each.replicas if broker not in each.adding), each.adding)
        for where, each in moving.items()
    }
