"""Topics of a file: partitions, copies, settings. Partitions only grow; copies are moved by a command of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock.client.admin import DEFAULT, TOPIC
from penstock.client.declared import shape
from penstock.client.declared.change import Change, Sign, became
from penstock.client.declared.marked import FileError, Mark, Node, Scalar, Value
from penstock.client.declared.scene import Scene
from penstock.client.metadata import TopicView

PARTITIONS_MAX: Final = (1 << 31) - 1
COPIES_MAX: Final = (1 << 15) - 1
OF_THE_CLUSTER: Final = "_"
"""How the names of topics begin that programs keep for themselves: nobody declares them, and nothing removes them."""


class Topic(NamedTuple):
    name: str
    mark: Mark
    partitions: tuple[int, Mark] | None
    replication: tuple[int, Mark] | None
    settings: Mapping[str, Scalar]


def read(node: Node, _: Path) -> dict[str, Topic]:
    return {key.text: _read(key, inner) for key, inner in shape.entries(node, "topics")}


def _read(name: Scalar, node: Node) -> Topic:
    what = f"topic {name.text}"
    fields = shape.Fields(node, what, ("partitions", "replication", "settings"))
    settings = fields.get("settings")
    return Topic(
        name.text,
        name.mark,
        _count(fields.get("partitions"), f"partitions of {what}", PARTITIONS_MAX),
        _count(fields.get("replication"), f"replication of {what}", COPIES_MAX),
        {} if settings is None else shape.settings(settings, f"setting of {what}"),
    )


def _count(node: Node | None, what: str, most: int) -> tuple[int, Mark] | None:
    return None if node is None else (shape.number(node, what, 1, most), node.mark)


def plan(scene: Scene, declared: Mapping[str, Topic], prune: bool) -> Iterator[Change]:
    found = {topic.name: topic for topic in scene.client.topics()}
    own = scene.admin.own_settings([name for name in declared if name in found])
    for name, topic in declared.items():
        if name not in found:
            yield _creation(scene, topic)
        elif name in own:
            yield from _growth(scene, topic, found[name])
            yield from _settings(scene, topic, own[name], prune)
    if prune:
        for name, there in found.items():
            if name not in declared and not _is_anothers(scene, there):
                details = (f"{len(there.partitions)} partitions with records",)
                yield Change(Sign.REMOVE, "topic", name, details, partial(scene.admin.delete_topic, name))


def _is_anothers(scene: Scene, topic: TopicView) -> bool:
    is_tenants = any(topic.name.startswith(tenant.prefix) for tenant in scene.tenants)
    return topic.is_internal or topic.name.startswith(OF_THE_CLUSTER) or is_tenants


def _creation(scene: Scene, topic: Topic) -> Change:
    counts = (_or_default(topic.partitions), _or_default(topic.replication))
    settings = {name: value.text for name, value in topic.settings.items()}
    create = partial(scene.admin.create_topic, topic.name, *counts, settings)
    said = [("partitions", topic.partitions), ("replication", topic.replication)]
    details = [f"{name}: {value[0]}" for name, value in said if value is not None]
    details += [f"{name}: {value}" for name, value in settings.items()]

    def perform(**how: bool) -> None:
        create(**how)

    marks = _marks(topic.settings)
    check = partial(perform, validate_only=True)
    return Change(Sign.ADD, "topic", topic.name, tuple(details), perform, check, topic.mark, marks)


def _or_default(count: tuple[int, Mark] | None) -> int:
    return DEFAULT if count is None else count[0]


def _marks(settings: Mapping[str, Scalar]) -> tuple[tuple[str, Mark], ...]:
    return tuple((name, value.mark) for name, value in settings.items())


def _growth(scene: Scene, topic: Topic, there: TopicView) -> Iterator[Change]:
    has, copies = len(there.partitions), max(len(each.replicas) for each in there.partitions)
    if topic.replication is not None and topic.replication[0] != copies:
        wanted, mark = topic.replication
        hint = f"`penstock cluster reassign --topic {topic.name} --replication-factor {wanted} --execute` moves them"
        raise FileError(mark, f"topic {topic.name} has {copies} copies of each partition, not {wanted}", hint)
    if topic.partitions is None or topic.partitions[0] == has:
        return
    wanted, mark = topic.partitions
    if wanted < has:
        message = f"topic {topic.name} has {has} partitions, and cannot have {wanted}: they only grow"
        raise FileError(mark, message, f"write {has}, or copy its records into a new topic")
    grow = partial(scene.admin.add_partitions, topic.name, wanted)
    details = (became("partitions", has, wanted), "most keys will belong to other partitions")
    yield Change(Sign.ALTER, "topic", topic.name, details, grow, partial(grow, validate_only=True), mark)


def _settings(scene: Scene, topic: Topic, own: Mapping[str, str | None], prune: bool) -> Iterator[Change]:
    to_set = {name: value.text for name, value in topic.settings.items() if own.get(name) != value.text}
    to_delete = [name for name in own if name not in topic.settings] if prune else []
    if not to_set and not to_delete:
        return
    details = [became(name, own.get(name), value) for name, value in to_set.items()]
    details += [became(name, own[name], None) for name in to_delete]
    alter = partial(scene.admin.alter_configs, TOPIC, topic.name, to_set, to_delete)
    check = partial(alter, validate_only=True)
    yield Change(Sign.ALTER, "topic", topic.name, tuple(details), alter, check, topic.mark, _marks(topic.settings))


def export(scene: Scene) -> Value:
    topics = [each for each in scene.client.topics() if not each.is_internal and each.name[:1] != OF_THE_CLUSTER]
    own = scene.admin.own_settings([topic.name for topic in topics])
    return {topic.name: _written(topic, own[topic.name]) for topic in topics if topic.name in own}


def _written(topic: TopicView, own: Mapping[str, str | None]) -> Value:
    counts: dict[str, Any] = {
        "partitions": len(topic.partitions),
        "replication": max(len(each.replicas) for each in topic.partitions),
    }
    settings = {name: value for name, value in sorted(own.items()) if value is not None}
    return counts | ({"settings": settings} if settings else {})
