"""`penstock cluster decommission`: everything off a node, then the node out of the cluster. Clients notice nothing."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Annotated, Final

import typer

from penstock.cli.arguments import at_least
from penstock.cli.cluster_moves import DEFAULT_THROTTLE, Throttle, carry_out, show_plan
from penstock.cli.cluster_picture import Picture, names_text, numbers_text, rate_bytes, take_picture
from penstock.cli.node_settings import has_joined
from penstock.cli.output import Output
from penstock.cli.plain import DATA_DIR
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.blocking import Client
from penstock.client.draining import Drains
from penstock.client.errors import ClientError
from penstock.client.moving import Mover
from penstock.client.quorum import describe_quorum, registered_brokers, remove_voter, unregister_broker
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.balancing import Aim, Planner, Shift

ROUNDS_MAX: Final = 10
"""Topics that are created meanwhile may still have chosen the node, until everybody knows that it takes nothing."""
TRIES: Final = 4
TRY_SECONDS: Final = 0.5
STOP_SECONDS_MAX: Final = 3600.0
POLL_SECONDS: Final = 0.2


def decommission(
    node: Annotated[int, typer.Argument(metavar="NODE", callback=at_least(0), help="The number of the node.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would move.")] = False,
    throttle: Throttle = DEFAULT_THROTTLE,
    data_dir: Annotated[
        str, typer.Option("--data-dir", metavar="DIR", help="The folder of `penstock up`, to stop a node of it.")
    ] = DATA_DIR,
    stop: Annotated[
        bool, typer.Option("--stop/--no-stop", help="Wait for the node's stop, and forget it then.")
    ] = True,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Move everything off a node, stop it, and take it out of the cluster."""
    with connect(bootstrap, timeout) as client:
        picture = take_picture(client)
        _check(picture, node)
        shifts = _plan_patiently(client, node)
        show_plan(output, shifts, picture, execute=True, node=node, dry_run=dry_run)
        if dry_run:
            return
        if not Mover(client).cordon(node):
            say(f"node {node} cannot be kept from taking new partitions: create no topics until it has stopped")
        _empty(client, node, shifts, rate_bytes(throttle))
        say(f"node {node} holds nothing any more")
        if not stop:
            say(f"stop it, and run this again to forget it: penstock cluster decommission {node}")
            return
        _leave_quorum(client, node)
        _stop(client, node, data_dir)
        consequence = _note(client, node, data_dir)
        Mover(client).forget_cordon(node)
        with suppress(ClientError):
            Drains(client).end(node)
        unregister_broker(client, node)
    say(f"node {node} is no longer part of the cluster; {consequence}")


def _check(picture: Picture, node: int) -> None:
    known = [broker.node_id for broker in picture.brokers]
    if node not in known:
        raise Refused(f"there is no broker {node}", f"the brokers are {numbers_text(known)}")
    if picture.alive == [node]:
        raise Refused(f"broker {node} is the only one that serves", "start another one first")


def _plan_patiently(client: Client, node: int) -> list[Shift]:
    """While others move replicas too, what was told may be half old and half new, and look impossible."""
    for _ in range(TRIES - 1):
        with suppress(Refused):
            return _plan(take_picture(client), node)
        time.sleep(TRY_SECONDS)
    return _plan(take_picture(client), node)


def _plan(picture: Picture, node: int) -> list[Shift]:
    shifts = Planner(picture.sites(), Aim(), leaving=[node]).plan(picture.layouts())
    moved = {(shift.topic, shift.number) for shift in shifts}
    stuck = [
        f"{topic.name}-{each.number}"
        for topic in picture.topics
        for each in topic.partitions
        if node in each.replicas and (topic.name, each.number) not in moved
    ]
    if stuck:
        raise Refused(
            f"nobody else can take {names_text(stuck)}: there are too few brokers for so many copies",
            "add a broker, or have fewer copies: `penstock cluster reassign --topic NAME --replication-factor N`",
        )
    return shifts


def _empty(client: Client, node: int, shifts: list[Shift], throttle: int | None) -> None:
    for _ in range(ROUNDS_MAX):
        if not shifts:
            return
        carry_out(client, shifts, throttle)
        shifts = _plan_patiently(client, node)
    raise Refused(f"broker {node} gets new replicas again and again", "see who creates them, and run this again")


def _leave_quorum(client: Client, node: int) -> None:
    """A node that votes must not be missed by the others."""
    quorum = describe_quorum(client)
    voter = next((each for each in quorum.voters if each.node_id == node), None)
    if voter is None:
        return
    try:
        remove_voter(client, client.cluster.cluster_id or "", voter)
        say(f"node {node} no longer votes")
    except ClientError as failure:
        if failure.code not in (ErrorCode.UNSUPPORTED_VERSION, ErrorCode.INVALID_REQUEST):
            raise
        left = len(quorum.voters) - 1
        say(
            f"node {node} stays one of {left + 1} voters that every node's controller.quorum.voters names: "
            f"without it {left} are left, of which {(left + 1) // 2 + 1} must run"
        )


def _stop(client: Client, node: int, data_dir: str) -> None:
    """Stop a node of a local cluster; wait for a person to stop any other."""
    from penstock.cli.local_node import stop_local_node

    if stop_local_node(data_dir, node, client.cluster.cluster_id):
        say(f"node {node} of {data_dir} is stopped")
    elif _serves(client, node):
        say(f"stop node {node} now: this waits until it is gone (--data-dir names the folder of a `penstock up`)")
    deadline = time.monotonic() + STOP_SECONDS_MAX
    while _serves(client, node):
        if time.monotonic() > deadline:
            raise Refused(
                f"node {node} still runs", f"stop it, and run this again: penstock cluster decommission {node}"
            )
        time.sleep(POLL_SECONDS)


def _note(client: Client, node: int, data_dir: str) -> str:
    """Make sure that a node of a local cluster stays away; gives what a person may do with its folder."""
    from penstock.cli.local_node import find_local_node

    local = find_local_node(data_dir, node, client.cluster.cluster_id)
    if local is None:
        return "its folder can be deleted, and must not be started again"
    local.make_former()
    # Those that began the cluster are counted by their folders.
    return "its folder can be deleted" if has_joined(local.text()) else "`penstock up` leaves it out"


def _serves(client: Client, node: int) -> bool:
    return any(broker.node_id == node and not broker.is_fenced for broker in registered_brokers(client))
