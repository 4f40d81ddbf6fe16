"""`penstock cluster drain`: others lead for a node while it is worked on, and `undrain` lets it lead again."""

from __future__ import annotations

import time
from typing import Annotated, Final

import typer

from penstock.cli.arguments import at_least
from penstock.cli.cluster_picture import fresh_topics, names_text, numbers_text, own_last
from penstock.cli.output import Output, print_json
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.blocking import Client
from penstock.client.draining import Drains
from penstock.client.metadata import PartitionView, TopicPartition
from penstock.client.quorum import registered_brokers

POLL_SECONDS: Final = 0.1
RETURN_SECONDS_MAX: Final = 2.0
"""Leaders come back before the answer does; who is asked for them hears of it a moment later."""
Node = Annotated[int, typer.Argument(metavar="NODE", callback=at_least(0), help="The number of the node.")]


def drain(
    node: Node,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Let others lead for a node until `undrain`, also over its restarts; exits with 1 while it leads something."""
    with connect(bootstrap, timeout) as client:
        _check(client, node)
        Drains(client).begin(node)
        left = _await_others(client, node, time.monotonic() + timeout)
    _tell(output, node, left, drained=True)
    if not left:
        say(f"node {node} leads nothing, until `penstock cluster undrain {node}`")
        return
    raise Refused(
        f"node {node} is drained, but nobody else can lead {names_text(left)}",
        "those are away while it is stopped, unless others have a copy in sync: "
        "`penstock cluster reassign --topic NAME --replication-factor N` makes copies",
    )


def undrain(
    node: Node,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Let a node lead again; what it is the first replica of comes back to it."""
    with connect(bootstrap, timeout) as client:
        _check(client, node)
        Drains(client).end(node)
        led, waiting = _await_return(client, node)
    _tell(output, node, led, drained=False)
    later = f", and {len(waiting)} more when leaders are balanced next" if waiting else ""
    partitions = "1 partition" if len(led) == 1 else f"{len(led)} partitions"
    say(f"node {node} leads {partitions}{later}")


def _check(client: Client, node: int) -> None:
    known = [broker.node_id for broker in registered_brokers(client)]
    if node not in known:
        raise Refused(f"there is no broker {node}", f"the brokers are {numbers_text(known)}")
    if not Drains(client).can(node):
        raise Refused(
            f"broker {node} is of a kind that cannot be drained", "move its leaders with `penstock cluster reassign`"
        )


def _await_others(client: Client, node: int, deadline: float) -> list[TopicPartition]:
    """What the node goes on to lead: at once where nobody else has a copy, else after some time."""
    while True:
        led = {where: each for where, each in _partitions(client) if each.leader == node}
        if time.monotonic() > deadline or all(each.replicas == (node,) for each in led.values()):
            return sorted(led, key=own_last)
        time.sleep(POLL_SECONDS)


def _await_return(client: Client, node: int) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """What the node leads, and what it could lead and does not yet."""
    deadline = time.monotonic() + RETURN_SECONDS_MAX
    while True:
        partitions = _partitions(client)
        led = [where for where, each in partitions if each.leader == node]
        waiting = [
            where
            for where, each in partitions
            if each.leader != node and each.replicas[0] == node and node in each.in_sync
        ]
        if not waiting or time.monotonic() > deadline:
            return led, waiting
        time.sleep(POLL_SECONDS)


def _partitions(client: Client) -> list[tuple[TopicPartition, PartitionView]]:
    return [
        (TopicPartition(topic.name, each.number), each) for topic in fresh_topics(client) for each in topic.partitions
    ]


def _tell(output: Output, node: int, led: list[TopicPartition], *, drained: bool) -> None:
    if output is Output.JSON:
        print_json({"node": node, "drained": drained, "leads": [str(where) for where in led]})
