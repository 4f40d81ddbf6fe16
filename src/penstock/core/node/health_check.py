"""What is not as it should be on a node, a line for each thing: for whoever asks how it is."""

from collections.abc import Iterator
from typing import Any

from penstock.core.node.membership.broker_lifecycle import State
from penstock.core.node.node import Node


def health(node: Node) -> dict[str, Any]:
    """Whether clients should be sent here; if not, why; and what a person should look after in either case."""
    reasons = list(hindrances(node))
    return {"ready": not reasons, "state": node.state, "reasons": reasons, "complaints": list(complaints(node))}


def hindrances(node: Node) -> Iterator[str]:
    """Why this node cannot serve all that is asked of it."""
    if node.state != "running":
        yield f"the node is {node.state}"
    lost = node.cluster.quorum_watch.complaint if node.has_quorum else None
    if lost is not None:
        yield lost
    elif node.state == "running" and node.is_broker and _is_fenced(node):
        yield "this broker is fenced: the controller does not let it lead or be in sync"
    if node.disk_full:
        yield f"the disk of {node.settings.log_dir} is full: writes are refused until there is room again"


def _is_fenced(node: Node) -> bool:
    return not node.cluster.is_lone and node.cluster.broker_lifecycle.state is State.CATCHING_UP


def complaints(node: Node) -> Iterator[str]:
    """None while all is well, and before there is anything to complain of."""
    loss = node.quorum.loss if node.has_quorum else None
    if loss is not None:
        yield f"the metadata is being rebuilt: it was damaged in {loss.what}, and is kept in {loss.folder}"
    if node.has_opened:
        for offline in node.replicas.offline.values():
            yield f"{offline.damage.name} is offline: damaged in {offline.damage.what}"
        if node.replicas.strays:
            yield f"{len(node.replicas.strays)} partition(s) are set aside: look with `penstock storage stray list`"
        for log, bad in node.scrub.found():
            yield f"{log.topic}-{log.partition} is damaged in {bad.what}"
