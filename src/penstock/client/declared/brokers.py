"""Settings of brokers in a file: those of all (`default`), and those of one, by its number. Only what can be changed
while brokers run, and no secrets, which nobody can read back to compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Final

from penstock.client.admin import BROKER
from penstock.client.declared import shape
from penstock.client.declared.change import Change, Sign, became
from penstock.client.declared.marked import FileError, Node, Scalar, Value
from penstock.client.declared.scene import Scene
from penstock.client.tenants import SETTING
from penstock.core.metadata.reluctance import DRAINED

ALL: Final = "default"
SOURCES: Final = {True: "all brokers", False: "broker"}
OF_OTHERS: Final = frozenset({SETTING, DRAINED})
"""Settings that say what is going on, and have commands of their own."""
OF_THE_CLUSTER: Final = "min.insync.replicas"
"""Clusters with eligible leader replicas set it for all brokers by themselves, and refuse to be without it."""
PER_LISTENER: Final = "listener.name."

Declared = tuple[Scalar, Mapping[str, Scalar]]


def read(node: Node, _: Path) -> dict[str, Declared]:
    found: dict[str, Declared] = {}
    for key, inner in shape.entries(node, "brokers"):
        if key.text != ALL and not key.text.isdecimal():
            raise FileError(key.mark, f"brokers: a broker's number or {ALL} is expected, not {key.text!r}")
        found[key.text] = key, shape.settings(inner, "setting")
    return found


def plan(scene: Scene, declared: Mapping[str, Declared], prune: bool) -> Iterator[Change]:
    alive = [str(broker.node_id) for broker in scene.admin.cluster().brokers]
    for name, (key, settings) in declared.items():
        if name != ALL and name not in alive:
            raise FileError(key.mark, f"there is no broker {name}", f"there are {', '.join(alive)}, and {ALL}")
        _check(scene, settings)
    for name in (ALL, *alive):
        if name in declared or prune:
            yield from _changes(scene, name, declared.get(name), prune)


def _check(scene: Scene, settings: Mapping[str, Scalar]) -> None:
    for name, value in settings.items():
        if name.startswith(PER_LISTENER):
            continue
        if name in OF_OTHERS:
            hint = "tenants have a part of their own, and `penstock cluster drain` drains"
            raise FileError(value.mark, f"{name} is not set here", hint)
        if name not in scene.broker_settings:
            near = get_close_matches(name, scene.broker_settings, 1)
            hint = f"did you mean {near[0]}?" if near else "`penstock config describe --broker N --all` lists them"
            raise FileError(value.mark, f"a broker has no setting {name}", hint)
        if scene.broker_settings[name]:
            hint = "set it with `penstock config alter`"
            raise FileError(value.mark, f"{name} is secret, and is not kept in a file", hint)


def _changes(scene: Scene, name: str, wanted: Declared | None, prune: bool) -> Iterator[Change]:
    settings = {} if wanted is None else wanted[1]
    own = _own(scene, name)
    to_set = {each: value.text for each, value in settings.items() if own.get(each) != value.text}
    to_delete = [each for each in own if each not in settings and each != OF_THE_CLUSTER] if prune else []
    if not to_set and not to_delete:
        return
    details = [became(each, own.get(each), value) for each, value in to_set.items()]
    details += [became(each, own[each], None) for each in to_delete]
    alter = partial(scene.admin.alter_configs, BROKER, "" if name == ALL else name, to_set, to_delete)
    marks = tuple((each, value.mark) for each, value in settings.items())
    check = partial(alter, validate_only=True)
    yield Change(
        Sign.ALTER, "broker", name, tuple(details), alter, check, None if wanted is None else wanted[0].mark, marks
    )


def _own(scene: Scene, name: str) -> dict[str, str]:
    """What was set while brokers ran."""
    found = scene.admin.describe_configs(BROKER, "" if name == ALL else name)
    source = SOURCES[name == ALL]
    return {
        each.name: each.value
        for each in found
        if each.source == source and each.value is not None and not each.is_sensitive and each.name not in OF_OTHERS
    }


def export(scene: Scene) -> Value:
    names = [ALL, *(str(broker.node_id) for broker in scene.admin.cluster().brokers)]
    return {name: own for name in names if (own := _own(scene, name))}
