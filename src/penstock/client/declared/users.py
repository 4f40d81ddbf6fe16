"""Users of a file. Nobody can ask a broker whether a password is the right one: it is given to who is new, and to
nobody else."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from penstock.client.blocking import Client
from penstock.client.declared import shape
from penstock.client.declared.change import Change, Sign
from penstock.client.declared.marked import FileError, Mark, Node, Scalar, Value
from penstock.client.declared.scene import Scene
from penstock.client.declared.secrets import EXPECTED, Secret, read_secret
from penstock.client.errors import ClientError
from penstock.client.users import delete_user, set_password, users
from penstock.core.base.mechanisms import SCRAM_NUMBERS

VARIABLE: Final = "PASSWORD_OF_"
"""How the variables begin that an exported file names."""


class User(NamedTuple):
    name: str
    mark: Mark
    mechanisms: tuple[str, ...]
    password: Secret | None


def read(node: Node, folder: Path) -> dict[str, User]:
    return {key.text: _read(key, inner, folder) for key, inner in shape.entries(node, "users")}


def _read(name: Scalar, node: Node, folder: Path) -> User:
    what = f"user {name.text}"
    fields = shape.Fields(node, what, ("password", "mechanisms"))
    mechanisms, password = fields.get("mechanisms"), fields.get("password")
    return User(
        name.text,
        name.mark,
        tuple(SCRAM_NUMBERS) if mechanisms is None else shape.words(mechanisms, f"mechanisms of {what}", SCRAM_NUMBERS),
        None if password is None else read_secret(password, f"password of {what}", folder),
    )


def plan(scene: Scene, declared: Mapping[str, User], prune: bool) -> Iterator[Change]:
    found = users(scene.client)
    for name, user in declared.items():
        has = found.get(name, {})
        missing = [each for each in user.mechanisms if each not in has]
        if missing:
            give = partial(_give, scene.client, user, missing)
            sign = Sign.ALTER if has else Sign.ADD
            details = (f"{'+ ' if has else ''}mechanisms: {', '.join(missing)}",)
            yield Change(sign, "user", name, details, give, partial(_check, user), user.mark)
        unwanted = [each for each in has if each not in user.mechanisms]
        if unwanted and prune:
            take = partial(delete_user, scene.client, name, unwanted)
            yield Change(Sign.ALTER, "user", name, (f"- mechanisms: {', '.join(unwanted)}",), take, mark=user.mark)
    if prune:
        tenants = {tenant.name for tenant in scene.tenants}
        gone = found.keys() - declared.keys() - tenants
        _refuse_ourselves(scene.client, gone)
        for name in sorted(gone):
            delete = partial(delete_user, scene.client, name, found[name])
            yield Change(Sign.REMOVE, "user", name, (f"mechanisms: {', '.join(found[name])}",), delete)


def _secret(user: User) -> str:
    if user.password is None:
        raise FileError(user.mark, f"user {user.name} is new and has no password", EXPECTED)
    return user.password.read()


def _refuse_ourselves(client: Client, gone: Collection[str]) -> None:
    """Who deletes himself cannot do the rest, nor undo it."""
    if client.user in gone:
        hint = "name it in the file, or leave --prune out"
        raise ClientError(f"user {client.user} is not in the file, and it is the one who applies it", hint=hint)


def _check(user: User) -> None:
    _secret(user)


def _give(client: Client, user: User, mechanisms: list[str]) -> None:
    set_password(client, user.name, _secret(user), mechanisms)


def export(scene: Scene) -> Value:
    tenants = {tenant.name for tenant in scene.tenants}
    found = {name: has for name, has in sorted(users(scene.client).items()) if name not in tenants}
    variables = variables_of(found)
    return {name: {"mechanisms": sorted(has), "password": {"env": variables[name]}} for name, has in found.items()}


def variables_of(names: Mapping[str, object]) -> dict[str, str]:
    """A variable for the password of each; names that only differ in signs get numbers."""
    found: dict[str, str] = {}
    for name in names:
        base = VARIABLE + re.sub(r"[^A-Z0-9]", "_", name.upper())
        taken = set(found.values())
        found[name] = next(each for each in (base, *(f"{base}_{n}" for n in range(2, 1 << 20))) if each not in taken)
    return found
