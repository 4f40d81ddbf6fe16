"""What a setting is: its name, type, default, allowed values, and what Penstock does with it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final, Protocol

from penstock.core.base.values import frozen


class Kind(Enum):
    """The type of a setting's value; the numbers are those of DescribeConfigs' ConfigType field."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Standing(Enum):
    """What Penstock does with a setting. ACTS is a promise: changing the value changes what the node does."""

    ACTS = "acts"
    NO_MEANING = "no meaning"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class Scope(Enum):
    BROKER = "broker"
    TOPIC = "topic"
    GROUP = "group"


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Dynamic(Enum):
    """Whether a running broker takes a new value, and for whom it may be given."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Required(Enum):
    """The default of a setting that has none: a file that leaves it out is not complete."""

    REQUIRED = "required"


REQUIRED: Final = Required.REQUIRED


class Password:
    """A secret: however it is printed it shows nothing; only `reveal` gives the text. An empty one is false."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return "[hidden]"


class Validator(Protocol):
    """The allowed values of a setting; `str()` of it is what the documents show."""

    def problem(self, name: str, value: Any) -> str | None:
        """The whole sentence that says why `value` is not allowed, or None when it is."""


@frozen
class Synonym:
    """A broker setting that gives a topic or group setting its default, in its own unit."""

    name: str
    factor: int = 1


FIXED_BY_SOCKETS: Final = frozenset({"listeners", "listener.security.protocol.map"})
"""Kafka changes these in a running broker; our sockets are opened once."""


@frozen
class Key:
    name: str
    kind: Kind
    default: Any
    doc: str
    standing: Standing
    why: str
    valid: Validator | None
    scope: Scope
    dynamic: Dynamic
    importance: Importance
    synonyms: tuple[Synonym, ...] = ()
    # Hidden settings are listed by DescribeConfigs only when somebody has set them.
    hidden: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether any other value is refused while a node runs."""
        return (
            self.dynamic is Dynamic.READ_ONLY
            or self.standing is Standing.REFUSED
            or (self.scope is Scope.BROKER and self.name in FIXED_BY_SOCKETS)
        )

    @property
    def is_sensitive(self) -> bool:
        return self.kind is Kind.PASSWORD


class SettingError(ValueError):
    """Settings that cannot be used; `problems` has one whole sentence for each thing that is wrong."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        assert self.problems, "an error without a problem"
        super().__init__("\n".join(self.problems))
