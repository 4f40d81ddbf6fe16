"""The parts of a file, in the order in which they are made: who is there before what may be done, topics before what
is said of them. What is removed goes in the opposite order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock.client.declared import acls, brokers, quotas, schemas, shape, tenants, topics, users
from penstock.client.declared.change import Change, Sign
from penstock.client.declared.marked import Entries, FileError, Node, Value
from penstock.client.declared.scene import Scene


class Kind(NamedTuple):
    """`read` needs no cluster; `plan` compares what it has read with one, and may refuse; `export` is its opposite."""

    read: Callable[[Node, Path], Any]
    plan: Callable[[Scene, Any, bool], Iterator[Change]]
    export: Callable[[Scene], Value]


KINDS: Final[Mapping[str, Kind]] = {
    "brokers": Kind(brokers.read, brokers.plan, brokers.export),
    "tenants": Kind(tenants.read, tenants.plan, tenants.export),
    "users": Kind(users.read, users.plan, users.export),
    "topics": Kind(topics.read, topics.plan, topics.export),
    "acls": Kind(acls.read, acls.plan, acls.export),
    "quotas": Kind(quotas.read, quotas.plan, quotas.export),
    "schemas": Kind(schemas.read, schemas.plan, schemas.export),
}


def read_declaration(document: Node, folder: Path) -> dict[str, Any]:
    """What a file declares, kind by kind; paths in it begin at its folder. Of other kinds nothing is said."""
    if not isinstance(document, Entries):
        raise FileError(document.mark, "nothing is declared here", f"expected: {', '.join(KINDS)}")
    shape.Fields(document, "the file", tuple(KINDS))
    parts = {key.text: part for key, part in document.entries}
    return {name: kind.read(parts[name], folder) for name, kind in KINDS.items() if name in parts}


def plan_changes(scene: Scene, declared: Mapping[str, Any], prune: bool) -> list[Change]:
    """All that is to be done, in its order; raises where something cannot be."""
    found = [change for name, part in declared.items() for change in KINDS[name].plan(scene, part, prune)]
    removed = [change for change in found if change.sign is Sign.REMOVE]
    return [*(change for change in found if change.sign is not Sign.REMOVE), *reversed(removed)]
