"""`penstock group`: who is in a group, how far it is, and moving it."""

from typing import Annotated, Any

import typer

from penstock.cli import completion
from penstock.cli.group_delete import delete
from penstock.cli.group_lag import group_lags, known_ends, lag_of
from penstock.cli.outage import say_silent
from penstock.cli.output import Output, print_facts, print_json, print_rows, print_table
from penstock.cli.places import named_places, offsets_at
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.blocking import Client
from penstock.client.groups import SHARE, Group, Groups, Member
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.share_groups import ShareGroups, Standing

app = typer.Typer(help="Look at groups, move them, delete them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The group.", autocompletion=completion.groups)]
NOBODY = (None, None, None)
UNKNOWN_STANDING = Standing(None, None)
OFFSET_COLUMNS = ("topic", "partition", "committed", "end offset", "lag", "member", "client", "host")


@app.command("list")
def list_(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, output: OutputOption = Output.TABLE, timeout: Timeout = TIMEOUT_SECONDS
) -> None:
    """List the groups."""
    with connect(bootstrap, timeout) as client, client.within(timeout):
        found, silent = Groups(client).known()
        say_silent(silent, "groups")
        lags = group_lags(client, found)
    if not found and output is Output.TABLE:
        say("there are no groups yet; start one: penstock consume TOPIC --group NAME")
        return
    rows = [
        (group.group_id, group.group_state, group.group_type, group.protocol_type, lags[group.group_id])
        for group in found
    ]
    print_rows(output, ("group", "state", "type", "protocol", "lag"), rows)


@app.command()
def describe(
    name: Name,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Show a group's members, offsets and lag."""
    with connect(bootstrap, timeout) as client:
        groups = Groups(client)
        group = groups.describe(name)
        rows = _share_rows(client, group) if group.kind == SHARE else _rows(client, groups, group)
    facts = {
        "group": name,
        "state": group.state,
        "type": group.kind,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "members": len(group.members),
        "lag": sum(row[4] for row in rows if row[4] is not None),
        "rebalancing": group.progress.why,
        "held_up_by": list(group.progress.held_up_by),
    }
    if output is Output.JSON:
        keys = [column.replace(" ", "_") for column in OFFSET_COLUMNS]
        print_json(facts | {"offsets": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    print_facts(output, facts | {"held_up_by": ", ".join(group.progress.held_up_by) or None})
    print()
    print_table(OFFSET_COLUMNS, rows)


@app.command()
def reset(
    name: Name,
    to: Annotated[
        str | None, typer.Option(help="earliest, latest, current, an offset, or a time (2026-01-31T12:00, 15m).")
    ] = None,
    shift_by: Annotated[int | None, typer.Option(help="Forward by so many records, or back if negative.")] = None,
    topic: Annotated[
        list[str] | None, typer.Option(help="TOPIC or TOPIC:0,1; may be repeated.", autocompletion=completion.topics)
    ] = None,
    all_topics: Annotated[bool, typer.Option("--all-topics", help="Everything it has committed.")] = False,
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Move a group that has no members: shows what would change unless --execute is given."""
    if (to is None) == (shift_by is None):
        raise typer.BadParameter("give either --to or --shift-by")
    if bool(topic) == all_topics:
        raise typer.BadParameter("give either --topic or --all-topics")
    with connect(bootstrap, timeout) as client:
        groups = Groups(client)
        is_shared = groups.is_share_group(name)
        committed = ShareGroups(client).starts(name) if is_shared else groups.offsets(name)
        named = [place for text in topic or () for place in named_places(client, text, "--topic")]
        places = sorted(committed) if all_topics else named
        if not places:
            raise Refused(f"group {name} has committed nothing", "name topics with --topic instead of --all-topics")
        targets = _targets(client, places, committed, to, shift_by)
        if execute:
            ShareGroups(client).alter(name, targets) if is_shared else groups.commit(name, targets)
    rows = [(*where, committed.get(where), target) for where, target in targets.items()]
    print_rows(output, ("topic", "partition", "committed", "new offset"), rows)
    say(f"group {name} is moved" if execute else "nothing is changed yet: add --execute to do it")


app.command("delete")(delete)


def _rows(client: Client, groups: Groups, group: Group) -> list[tuple[Any, ...]]:
    committed = groups.offsets(group.name)
    owners = {where: member for member in group.members for where in member.partitions}
    rows = []
    for where, end in known_ends(client, sorted({*committed, *owners})).items():
        owner, offset = owners.get(where), committed.get(where)
        who = (owner.member_id, owner.client_id, owner.host) if owner else (None, None, None)
        rows.append((*where, offset, end, lag_of(offset, end), *who))
    return rows


def _share_rows(client: Client, group: Group) -> list[tuple[Any, ...]]:
    """Several members may read a partition; its offset is where the group begins, and records after it may be done."""
    standings = ShareGroups(client).standings(group.name)
    readers: dict[TopicPartition, list[Member]] = {}
    for member in group.members:
        for where in member.partitions:
            readers.setdefault(where, []).append(member)
    rows = []
    for where, end in known_ends(client, sorted({*standings, *readers})).items():
        start, lag = standings.get(where, UNKNOWN_STANDING)
        who = [(each.member_id, each.client_id, each.host) for each in readers.get(where, ())]
        columns = [", ".join(dict.fromkeys(column)) for column in zip(*who, strict=True)] if who else NOBODY
        rows.append((*where, start, end, lag, *columns))
    return rows


def _targets(
    client: Client,
    places: list[TopicPartition],
    committed: dict[TopicPartition, int],
    to: str | None,
    shift_by: int | None,
) -> dict[TopicPartition, int]:
    """The new offset of each partition, within what the partition holds."""
    limits = edges(client, places)
    wanted: dict[TopicPartition, Any]
    if shift_by is not None:
        wanted = {where: committed.get(where, limits[where][0]) + shift_by for where in places}
    elif to == "earliest":
        wanted = {where: limits[where][0] for where in places}
    elif to == "latest":
        wanted = {where: limits[where][1] for where in places}
    elif to == "current":
        # Partitions without a commit would start somewhere else tomorrow: "current" pins them to their end.
        wanted = {where: committed.get(where, limits[where][1]) for where in places}
    elif to is not None and to.isdecimal():
        wanted = dict.fromkeys(places, int(to))
    else:
        wanted = offsets_at(client, limits, to or "", "--to", "earliest, latest, current, an offset nor a time")
    return {where: min(max(wanted[where], limits[where][0]), limits[where][1]) for where in places}
