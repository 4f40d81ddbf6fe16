"""`penstock cluster add-voter` and `remove-voter`: who keeps the metadata, where that can change."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from penstock.cli.arguments import at_least
from penstock.cli.cluster_picture import numbers_text
from penstock.cli.output import Output, print_facts, print_json
from penstock.cli.session import (
    DEFAULT_BOOTSTRAP,
    TIMEOUT_SECONDS,
    Bootstrap,
    Execute,
    OutputOption,
    Timeout,
    check_bootstrap,
    connect,
)
from penstock.cli.talk import Refused, say
from penstock.client import quorum
from penstock.client.admin import Admin
from penstock.client.blocking import Client, parse_addresses
from penstock.client.errors import ClientError
from penstock.client.features import features
from penstock.client.quorum import Member, Quorum, describe_quorum
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.features import KRAFT_VERSION
from penstock.core.wire.api.describe_quorum import Listener

LISTENER: Final = "CONTROLLER"
"""What controllers' listeners are called where no voter tells."""
Node = Annotated[int, typer.Argument(metavar="NODE", callback=at_least(0), help="The number of the controller.")]
Address = Annotated[
    str, typer.Argument(metavar="HOST:PORT", callback=check_bootstrap, help="Where that controller listens.")
]


def add_voter(
    node: Node,
    address: Address,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Let a controller vote that was formatted with --no-initial-controllers, runs, and has caught up."""
    with connect(bootstrap, timeout) as client, client.within(timeout):
        found = _changeable(client)
        (host, port), *_ = parse_addresses(address)
        listener = Listener(name=_listener(found), host=host, port=port)
        quorum.add_voter(client, Admin(client).cluster().cluster_id, _follower(found, node), listener)
        _tell(output, describe_quorum(client))


def remove_voter(
    node: Node,
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Let a controller vote no longer; it can be stopped then. Shows who would be left unless --execute is given."""
    with connect(bootstrap, timeout) as client, client.within(timeout):
        found = _changeable(client)
        member = _voter(found, node)
        if execute:
            quorum.remove_voter(client, Admin(client).cluster().cluster_id, member)
            found = _without(client, node)
        else:
            found = found._replace(voters=tuple(each for each in found.voters if each is not member))
    _tell(output, found, "voters" if execute else "would be left")
    if not execute:
        say("nothing is changed; do it with --execute")


def _changeable(client: Client) -> Quorum:
    levels = {one.name: one.level for one in features(client)}
    if not levels.get(KRAFT_VERSION, 0):
        raise Refused(
            f"the voters are those of controller.quorum.voters: {KRAFT_VERSION} is 0",
            f"keep them in the metadata with `penstock cluster features --set {KRAFT_VERSION}=1`, "
            "once all controllers have run for some seconds",
        )
    return describe_quorum(client)


def _follower(found: Quorum, node: int) -> Member:
    """Whoever follows under that number; of several folders, the one that was heard last."""
    if any(voter.node_id == node for voter in found.voters):
        raise Refused(f"node {node} votes already", "see `penstock cluster quorum`")
    same = [member for member in found.observers if member.node_id == node]
    if not same:
        known = numbers_text([member.node_id for member in found.observers])
        raise Refused(
            f"node {node} does not follow the metadata", f"start it first; those that follow and do not vote: {known}"
        )
    return max(same, key=lambda member: member.fetched_ms)


def _voter(found: Quorum, node: int) -> Member:
    voters = [voter.node_id for voter in found.voters]
    if node not in voters:
        raise Refused(f"node {node} does not vote", f"the voters are {numbers_text(voters)}")
    if len(voters) == 1:
        raise Refused(f"node {node} is the only voter", "add another one first: `penstock cluster add-voter`")
    return next(voter for voter in found.voters if voter.node_id == node)


def _listener(found: Quorum) -> str:
    return next((name for voter in found.voters for name in voter.listeners), LISTENER)


def _without(client: Client, node: int) -> Quorum:
    """The quorum as those that are left see it: who has left leads until another is elected."""

    def attempt() -> Quorum:
        found = describe_quorum(client)
        if any(voter.node_id == node for voter in found.voters):
            raise ClientError(f"node {node} votes still", code=ErrorCode.REQUEST_TIMED_OUT)
        return found

    return client.retry(attempt)


def _tell(output: Output, found: Quorum, name: str = "voters") -> None:
    voters = [voter.node_id for voter in found.voters]
    if output is Output.JSON:
        print_json({name.replace(" ", "_"): voters})
        return
    print_facts(output, {name: numbers_text(voters)})
    if len(voters) % 2 == 0:
        say("an even number of voters survives no more failures than one voter less")
