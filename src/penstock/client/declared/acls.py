"""Access rules of a file. One entry is a rule for each of its operations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from penstock.client.acls import Acls, Filter, Rule
from penstock.client.declared import shape
from penstock.client.declared.change import Change, Sign
from penstock.client.declared.marked import FileError, Mark, Node, Value
from penstock.client.declared.scene import Scene
from penstock.client.tenants import rules_of
from penstock.core.access.words import CLUSTER_NAME, KNOWN, WILDCARD, Operation, PatternType, Permission, Resource

Rules = Mapping[Rule, Mark]


def _word(value: Operation | Resource) -> str:
    return value.name.lower().replace("_", "-")


RESOURCES: Final = {_word(each): each for each in Resource}
OPERATIONS: Final = {_word(each): each for each in Operation}
PERMISSIONS: Final = {each.name.lower(): each for each in Permission}
FIELDS: Final = ("principal", "operations", "permission", "host", "prefixed", *RESOURCES)


def read(node: Node, _: Path) -> dict[Rule, Mark]:
    found: dict[Rule, Mark] = {}
    for each in shape.items(node, "acls"):
        for rule, mark in _read(each):
            if rule in found:
                raise FileError(mark, f"this is there already, in line {found[rule].line}: {rule.text}")
            found[rule] = mark
    return found


def _read(node: Node) -> Iterator[tuple[Rule, Mark]]:
    what = "rule"
    fields = shape.Fields(node, what, FIELDS)
    kind, named = fields.one_of(tuple(RESOURCES))
    resource = RESOURCES[kind]
    name = _cluster(named) if resource is Resource.CLUSTER else shape.text(named, kind)
    principal = shape.text(fields.need("principal"), "principal")
    permission, host, prefixed = (fields.get(each) for each in ("permission", "host", "prefixed"))
    operations = fields.need("operations")
    known = ["all", *sorted(word for word, each in OPERATIONS.items() if each in KNOWN[resource])]
    for word in shape.words(operations, f"operations of a {kind}", known):
        yield (
            Rule(
                principal if ":" in principal else f"User:{principal}",
                Permission.ALLOW if permission is None else PERMISSIONS[shape.word(permission, what, PERMISSIONS)],
                OPERATIONS[word],
                resource,
                name,
                PatternType.PREFIXED if prefixed is not None and shape.truth(prefixed, what) else PatternType.LITERAL,
                WILDCARD if host is None else shape.text(host, "host"),
            ),
            fields.mark,
        )


def _cluster(node: Node) -> str:
    if not shape.truth(node, "cluster"):
        raise FileError(node.mark, "cluster: true is expected, or another resource instead")
    return CLUSTER_NAME


def plan(scene: Scene, declared: Rules, prune: bool) -> Iterator[Change]:
    acls = Acls(scene.client)
    found = set(acls.find(Filter()))
    for rule, mark in declared.items():
        if rule not in found:
            yield Change(Sign.ADD, "acl", rule.text, (), partial(acls.add, [rule]), mark=mark)
    if prune:
        for rule in sorted(found - declared.keys() - _of_tenants(scene)):
            remove = partial(_remove, acls, rule)
            yield Change(Sign.REMOVE, "acl", rule.text, (), remove)


def _remove(acls: Acls, rule: Rule) -> None:
    acls.remove(
        Filter(rule.principal, rule.permission, rule.operation, rule.resource, rule.name, rule.pattern, rule.host)
    )


def _of_tenants(scene: Scene) -> set[Rule]:
    return {rule for tenant in scene.tenants for rule in rules_of(tenant)}


def export(scene: Scene) -> Value:
    """Rules that only differ in their operations are one entry."""
    entries: defaultdict[Rule, list[str]] = defaultdict(list)
    for rule in sorted(set(Acls(scene.client).find(Filter())) - _of_tenants(scene)):
        entries[rule._replace(operation=Operation.ALL)].append(_word(rule.operation))
    return [_written(rule, operations) for rule, operations in entries.items()]


def _written(rule: Rule, operations: list[str]) -> Value:
    is_cluster = rule.resource is Resource.CLUSTER
    found: dict[str, Value] = {"principal": rule.principal, "operations": operations}
    found[_word(rule.resource)] = is_cluster or rule.name
    if rule.permission is Permission.DENY:
        found["permission"] = "deny"
    if rule.pattern is PatternType.PREFIXED:
        found["prefixed"] = True
    return found if rule.host == WILDCARD else found | {"host": rule.host}
