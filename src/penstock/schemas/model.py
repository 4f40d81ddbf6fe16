"""What the formats have in common: a schema can be compared with the one before it, and finds differences."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from penstock.core.base.errors import PenstockError

SCHEMA_CHARS_MAX = 1 << 20
"""Of a schema and of each one it refers to: as much as a record of `_schemas` holds."""
NESTING_MAX = 100
NAMES_MAX = 10_000
"""Objects of a JSON document, or types and fields of a Protobuf file."""
REFERENCES_MAX = 100
COMPARISONS_MAX = 200_000
"""Pairs of parts that are held against each other, about a second of work: unions and `oneOf` try each with each."""


class SchemaError(PenstockError):
    """A schema that is none, or is too much."""


class Format(StrEnum):
    """The formats, by the names that `schemaType` has, in lower case."""

    AVRO = "avro"
    JSON = "json"
    PROTOBUF = "protobuf"


@dataclass(frozen=True, slots=True)
class Difference:
    """What is in the way, or not, of reading with one schema what was written with another."""

    kind: str
    path: str
    message: str
    compatible: bool = False

    def __str__(self) -> str:
        return f"{self.kind} at {self.path}: {self.message}"


@dataclass(frozen=True, slots=True)
class Reference:
    """Another schema, under the name by which schemas call it: a full name, a file that is imported, an address."""

    name: str
    text: str


class Schema(Protocol):
    """A schema that was found to be one."""

    @property
    def format(self) -> Format: ...

    @property
    def normal(self) -> str:
        """The same for schemas that differ only in how they are written, and readable."""
        ...

    def differences(self, written: "Schema") -> list[Difference]:
        """What changes for data that was written with the other schema and is read with this one."""
        ...


class Effort:
    """Counts comparisons: who sends a schema decides how many there are."""

    def __init__(self) -> None:
        self._left = COMPARISONS_MAX

    def spend(self, steps: int = 1) -> None:
        self._left -= steps
        if self._left < 0:
            raise SchemaError(f"comparing these schemas takes more than {COMPARISONS_MAX} steps")


def check_size(text: str) -> None:
    if len(text) > SCHEMA_CHARS_MAX:
        raise SchemaError(f"the schema has {len(text)} characters, {SCHEMA_CHARS_MAX} are allowed")


def missing(module: str) -> SchemaError:
    return SchemaError(f"schemas need the package {module}: pip install 'penstock[schemas]'")
