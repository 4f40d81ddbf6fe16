"""Tenants of a file: a prefix, a user with its rules, how many partitions, and quotas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from penstock.client import tenants
from penstock.client.blocking import Client
from penstock.client.declared import shape
from penstock.client.declared.change import Change, Sign, became
from penstock.client.declared.marked import FileError, Mark, Node, Scalar, Value
from penstock.client.declared.quotas import Quota, changes, limits
from penstock.client.declared.scene import Scene
from penstock.client.declared.secrets import EXPECTED, Secret, read_secret
from penstock.client.declared.users import variables_of
from penstock.client.quotas import quotas
from penstock.core.base.quotas import FETCH, PRODUCE, USER, QuotaEntity
from penstock.core.base.settings.tenants import Tenant, problem_with

PARTITIONS_MAX: Final = (1 << 31) - 1
_LIMITS: Final = {"produce": PRODUCE, "fetch": FETCH}


class Declared(NamedTuple):
    tenant: Tenant
    limits: Mapping[str, float]
    password: Secret | None
    mark: Mark


def read(node: Node, folder: Path) -> dict[str, Declared]:
    found = {key.text: _read(key, inner, folder) for key, inner in shape.entries(node, "tenants")}
    known: list[str] = []
    for each in found.values():
        known.append(each.tenant.text)
        if problem := problem_with(known):
            raise FileError(each.mark, problem)
    return found


def _read(name: Scalar, node: Node, folder: Path) -> Declared:
    what = f"tenant {name.text}"
    fields = shape.Fields(node, what, ("prefix", "partitions", *_LIMITS, "password"))
    prefix, password = fields.get("prefix"), fields.get("password")
    tenant = Tenant(
        name.text,
        f"{name.text}." if prefix is None else shape.text(prefix, f"prefix of {what}"),
        shape.number(fields.need("partitions"), f"partitions of {what}", 1, PARTITIONS_MAX),
    )
    if not set(name.text + tenant.prefix) <= _ALLOWED:
        raise FileError(name.mark, f"{what}: names and prefixes have letters, digits and . _ - only")
    given = {word: found for word in _LIMITS if (found := fields.get(word)) is not None}
    amounts = {_LIMITS[word]: shape.amount(found, word, is_bytes=True) for word, found in given.items()}
    secret = None if password is None else read_secret(password, f"password of {what}", folder)
    return Declared(tenant, amounts, secret, name.mark)


_ALLOWED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def plan(scene: Scene, declared: Mapping[str, Declared], prune: bool) -> Iterator[Change]:
    found = {each.name: each for each in scene.tenants}
    if declared and tenants.SETTING not in scene.broker_settings:
        mark = next(iter(declared.values())).mark
        raise FileError(mark, "these brokers know no tenants", "write users, acls and quotas instead")
    held = {each.entity: each.values for each in quotas(scene.client)} if declared else {}
    for name, each in declared.items():
        if name not in found:
            yield _creation(scene.client, each)
            continue
        yield from _alteration(scene.client, each, found[name])
        entity: QuotaEntity = ((USER, name),)
        yield from changes(scene, "tenant", entity, Quota(each.limits, each.mark), held.get(entity, {}), prune)
    if prune:
        for name in found.keys() - declared.keys():
            delete = partial(tenants.delete, scene.client, found[name])
            details = ("its user, rules and quotas; its topics stay",)
            yield Change(Sign.REMOVE, "tenant", name, details, delete)


def _creation(client: Client, each: Declared) -> Change:
    said = {"prefix": each.tenant.prefix, "partitions": each.tenant.partitions_max, **limits(each.limits)}
    details = tuple(f"{word}: {value}" for word, value in said.items())

    def create() -> None:
        tenants.create(client, each.tenant, each.limits, _secret(each))

    def check() -> None:
        _secret(each)

    return Change(Sign.ADD, "tenant", each.tenant.name, details, create, check, each.mark)


def _secret(each: Declared) -> str:
    if each.password is None:
        raise FileError(each.mark, f"tenant {each.tenant.name} is new and has no password", EXPECTED)
    return each.password.read()


def _alteration(client: Client, each: Declared, there: Tenant) -> Iterator[Change]:
    wanted = each.tenant
    if wanted.prefix != there.prefix:
        message = f"tenant {wanted.name} has the prefix {there.prefix!r}, and its topics with it"
        raise FileError(each.mark, message, "delete the tenant first: `penstock tenant delete`")
    if wanted.partitions_max != there.partitions_max:
        details = (became("partitions", there.partitions_max, wanted.partitions_max),)
        replace = partial(tenants.replace, client, there, wanted)
        yield Change(Sign.ALTER, "tenant", wanted.name, details, replace, mark=each.mark)


def export(scene: Scene) -> Value:
    held = {each.entity: each.values for each in quotas(scene.client)} if scene.tenants else {}
    variables = variables_of({tenant.name: tenant for tenant in scene.tenants})
    return {
        tenant.name: {
            "prefix": tenant.prefix,
            "partitions": tenant.partitions_max,
            **limits(held.get(((USER, tenant.name),), {})),
            "password": {"env": variables[tenant.name]},
        }
        for tenant in scene.tenants
    }
