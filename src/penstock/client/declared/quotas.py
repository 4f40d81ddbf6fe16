"""Quotas of a file: whose, and how much. What an entry does not name stays as it is, unless it is to be pruned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from penstock.client.declared import shape
from penstock.client.declared.change import Change, Sign, became
from penstock.client.declared.marked import FileError, Mark, Node, Value
from penstock.client.declared.scene import Scene
from penstock.client.quotas import WORDS, alter_quotas, entity_text, quotas
from penstock.core.base.quotas import CLIENT_ID, CONNECTION, FETCH, IP, PRODUCE, USER, QuotaEntity

OTHERS: Final = "*"
WHOSE: Final = (USER, CLIENT_ID, IP)
BYTES: Final = frozenset({PRODUCE, FETCH})
_WORD_OF: Final = {key: word for word, key in WORDS.items()}


class Quota(NamedTuple):
    values: Mapping[str, float]
    mark: Mark


def read(node: Node, _: Path) -> dict[QuotaEntity, Quota]:
    found: dict[QuotaEntity, Quota] = {}
    for each in shape.items(node, "quotas"):
        fields = shape.Fields(each, "quota", (*WHOSE, *WORDS))
        entity = _entity(fields)
        if entity in found:
            raise FileError(fields.mark, f"{entity_text(entity)} is there already, in line {found[entity].mark.line}")
        found[entity] = Quota(values_of(fields, entity), fields.mark)
    return found


def _entity(fields: shape.Fields) -> QuotaEntity:
    given = [(kind, shape.text(node, kind)) for kind in sorted(WHOSE) if (node := fields.get(kind)) is not None]
    kinds = [kind for kind, _ in given]
    if not given or (IP in kinds and len(kinds) > 1):
        raise FileError(fields.mark, "quota: whose it is, is expected: user, client-id, both, or ip")
    return tuple((kind, None if name == OTHERS else name) for kind, name in given)


def values_of(fields: shape.Fields, entity: QuotaEntity) -> dict[str, float]:
    """How much of each."""
    found = {}
    for word, key in WORDS.items():
        if (node := fields.get(word)) is None:
            continue
        if (entity[0][0] == IP) != (key == CONNECTION):
            raise FileError(node.mark, f"{word}: connections are for an ip, and all else for users and client ids")
        found[key] = shape.amount(node, word, is_bytes=key in BYTES)
    if not found:
        raise FileError(fields.mark, "quota: how much is expected", f"at least one of {', '.join(WORDS)}")
    return found


def plan(scene: Scene, declared: Mapping[QuotaEntity, Quota], prune: bool) -> Iterator[Change]:
    found = {each.entity: each.values for each in quotas(scene.client)}
    for entity, quota in declared.items():
        yield from changes(scene, "quota", entity, quota, found.get(entity, {}), prune)
    if prune:
        tenants: set[QuotaEntity] = {((USER, tenant.name),) for tenant in scene.tenants}
        for entity in sorted(found.keys() - declared.keys() - tenants, key=entity_text):
            take = partial(alter_quotas, scene.client, entity, dict.fromkeys(found[entity]))
            details = tuple(f"{_WORD_OF.get(key, key)}: {number_text(value)}" for key, value in found[entity].items())
            yield Change(Sign.REMOVE, "quota", entity_text(entity), details, take)


def changes(
    scene: Scene, kind: str, entity: QuotaEntity, quota: Quota, has: Mapping[str, float], prune: bool
) -> Iterator[Change]:
    """From what an entity has to what it shall have."""
    wanted: dict[str, float | None] = {key: value for key, value in quota.values.items() if has.get(key) != value}
    wanted |= {key: None for key in has if prune and key not in quota.values}
    if wanted:
        details = tuple(_detail(key, has.get(key), value) for key, value in wanted.items())
        alter = partial(alter_quotas, scene.client, entity, wanted)
        sign = Sign.ALTER if has else Sign.ADD
        yield Change(sign, kind, entity_text(entity), details, alter, mark=quota.mark)


def _detail(key: str, before: float | None, after: float | None) -> str:
    texts = (None if each is None else number_text(each) for each in (before, after))
    return became(_WORD_OF.get(key, key), *texts)


def number_text(value: float) -> int | float:
    """Whole numbers without a point."""
    return int(value) if value == int(value) else value


def export(scene: Scene) -> Value:
    tenants = {((USER, tenant.name),) for tenant in scene.tenants}
    return [_written(each.entity, each.values) for each in quotas(scene.client) if each.entity not in tenants]


def _written(entity: QuotaEntity, values: Mapping[str, float]) -> Value:
    whose = {kind: OTHERS if name is None else name for kind, name in reversed(entity)}
    return whose | limits(values)


def limits(values: Mapping[str, float]) -> dict[str, Value]:
    return {word: number_text(values[key]) for word, key in WORDS.items() if key in values}
