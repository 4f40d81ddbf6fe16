"""`penstock group delete`: groups go with their offsets, or only offsets do; shown before it is done."""

from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.output import Output, print_json, print_rows
from penstock.cli.places import split_place
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.blocking import Client
from penstock.client.errors import check
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.client.share_groups import NOTHING, ShareGroups
from penstock.core.base.errors import ErrorCode

# A group in any other state has members.
_EMPTY = frozenset({"empty", "dead"})


def delete(
    names: Annotated[list[str], typer.Argument(help="The groups.", autocompletion=completion.groups)],
    topic: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            "-t",
            metavar="TOPIC[:0,1]",
            help="Only what they have committed there; may be repeated.",
            autocompletion=completion.topics,
        ),
    ] = None,
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Delete groups that have no members, with their offsets: shows what would go unless --execute is given."""
    chosen = list(dict.fromkeys(names))
    with connect(bootstrap, timeout) as client:
        groups = Groups(client)
        if not topic:
            _check_empty(groups, chosen)
        offsets = {name: _offsets(client, name, topic or []) for name in chosen}
        for name in chosen if execute else ():
            _delete_offsets(client, name, offsets[name]) if topic else groups.delete(name)
    rows = [(name, *where, offset) for name in chosen for where, offset in sorted(offsets[name].items())]
    if output is Output.JSON:
        keys = ("group", "topic", "partition", "committed")
        print_json(
            {"deleted": chosen if execute else [], "offsets": [dict(zip(keys, row, strict=True)) for row in rows]}
        )
    elif rows and not execute:
        print_rows(output, ("group", "topic", "partition", "committed"), rows)
    what = f"deleted: {', '.join(chosen)}" if not topic else f"deleted: {len(rows)} offsets of {', '.join(chosen)}"
    say(what if execute else f"nothing is deleted yet of {', '.join(chosen)}: add --execute to do it")


def _standing(client: Client, name: str) -> dict[TopicPartition, int]:
    """Also where nobody has begun: state is kept of that, too."""
    standings = ShareGroups(client).standings(name)
    return {where: NOTHING if each.start is None else each.start for where, each in standings.items()}


def _check_empty(groups: Groups, names: list[str]) -> None:
    """Before anything is deleted it is known that all of it can be."""
    states = {group.group_id: group.group_state.lower() for group in groups.list()}
    for name in names:
        if name not in states:
            check(ErrorCode.GROUP_ID_NOT_FOUND, f"group {name}")
        if states[name] not in _EMPTY:
            check(ErrorCode.NON_EMPTY_GROUP, f"group {name}")


def _delete_offsets(client: Client, name: str, offsets: dict[TopicPartition, int]) -> None:
    groups = Groups(client)
    if groups.is_share_group(name):
        ShareGroups(client).delete_offsets(name, sorted({where.topic for where in offsets}))
    else:
        groups.delete_offsets(name, offsets)


def _offsets(client: Client, name: str, topics: list[str]) -> dict[TopicPartition, int]:
    """What a group has committed, of these topics where some are named."""
    is_shared = Groups(client).is_share_group(name)
    committed = _standing(client, name) if is_shared else Groups(client).offsets(name)
    if not topics:
        return committed
    places = [split_place(text) for text in topics]
    if is_shared and any(numbers is not None for _, numbers in places):
        raise Refused(f"group {name} is a share group: it forgets whole topics", "name them without partitions")
    found = {
        where: offset
        for where, offset in committed.items()
        if any(where.topic == topic and (numbers is None or where.partition in numbers) for topic, numbers in places)
    }
    if not found:
        raise Refused(
            f"group {name} has committed nothing in {', '.join(topics)}", f"see `penstock group describe {name}`"
        )
    return found
