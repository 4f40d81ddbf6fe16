"""The compatibility levels: which schemas a new one is held against, and in which direction."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from penstock.schemas.model import Difference, Schema, SchemaError


class Level(StrEnum):
    """By the names that a subject's configuration has."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"


BACKWARD, FORWARD = "backward", "forward"


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """What is in the way: with which earlier schema (its place in the list), and in which direction."""

    earlier: int
    direction: str
    difference: Difference


def incompatibilities(level: Level, new: Schema, earlier: Sequence[Schema]) -> list[Incompatibility]:
    """Earlier schemas come oldest first; the latest is looked at first, and alone unless the level is transitive."""
    if level is Level.NONE:
        return []
    held = range(len(earlier)) if level.endswith("_TRANSITIVE") else range(len(earlier))[-1:]
    return [
        Incompatibility(at, direction, difference)
        for at in reversed(held)
        for direction in _directions(level)
        for difference in obstacles(direction, new, earlier[at])
    ]


def obstacles(direction: str, new: Schema, old: Schema) -> list[Difference]:
    """Backward: the new schema reads data of the old one. Forward: the old one reads data of the new one."""
    if new.format is not old.format:
        raise SchemaError(f"a schema of {new.format} cannot follow one of {old.format}")
    reader, writer = (new, old) if direction == BACKWARD else (old, new)
    try:
        return [each for each in reader.differences(writer) if not each.compatible]
    except RecursionError:
        raise SchemaError("the schemas refer to each other too deeply to be compared") from None


def _directions(level: Level) -> tuple[str, ...]:
    name = level.removesuffix("_TRANSITIVE")
    return (BACKWARD, FORWARD) if name == "FULL" else (name.lower(),)
