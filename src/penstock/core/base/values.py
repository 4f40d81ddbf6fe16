"""Classes of plain fields, as dataclasses are, made in a tenth of the time: a node makes seventy before it can serve.

What is `frozen` has slots, equality, a hash and a text; what is `mutable` has no hash. To the type checker they
are dataclasses, and it is the type checker who refuses to change what is frozen: at run time nobody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast, dataclass_transform

T = TypeVar("T")

_MADE_ANEW: Final = frozenset({"__dict__", "__weakref__"})


class _Fresh:
    """Stands where an argument was left out whose default is made anew for each instance."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


def fresh(*, default_factory: Callable[[], T]) -> T:
    """The default of a field that no two instances may share."""
    return cast(T, _Fresh(default_factory))


@dataclass_transform(frozen_default=True, field_specifiers=(fresh,))
def frozen(cls: type[T]) -> type[T]:
    """A class whose instances are what their fields are, and stay so."""
    return _made(cls, {"__eq__": _equals, "__hash__": _hash, "__repr__": _text})


@dataclass_transform(field_specifiers=(fresh,))
def mutable(cls: type[T]) -> type[T]:
    """A class of fields that change."""
    return _made(cls, {"__eq__": _equals, "__hash__": None, "__repr__": _text})


def replaced(instance: T, **changes: object) -> T:
    """Another instance, which differs in some fields."""
    names: tuple[str, ...] = instance.__slots__  # type: ignore[attr-defined]  # there for what is made here
    fields = {name: getattr(instance, name) for name in names}
    return type(instance)(**(fields | changes))


def _made(cls: type[T], methods: dict[str, Any]) -> type[T]:
    """The class once more, with slots in place of the fields' defaults, which `__init__` has now."""
    body = dict(vars(cls))
    names = tuple(name for name, kind in body.get("__annotations__", {}).items() if not kind.startswith("ClassVar"))
    defaults = {name: body.pop(name) for name in names if name in body}
    body = {name: member for name, member in body.items() if name not in _MADE_ANEW}
    made = {"__slots__": names, "__match_args__": names, "__init__": _first_init(names, defaults)}
    return type(cls.__name__, cls.__bases__, methods | body | made)


def _first_init(names: tuple[str, ...], defaults: dict[str, object]) -> Callable[..., None]:
    """Most classes have no instance for a long time: their `__init__` is compiled with the first one."""

    def __init__(self: Any, *positional: object, **named: object) -> None:
        type(self).__init__ = _init(names, defaults)
        self.__init__(*positional, **named)

    return __init__


def _init(names: tuple[str, ...], defaults: dict[str, object]) -> object:
    known: dict[str, Any] = {"Fresh": _Fresh} | {f"default_{name}": each for name, each in defaults.items()}
    arguments = ["self", *(f"{name}=default_{name}" if name in defaults else name for name in names)]
    lines = [f"def __init__({', '.join(arguments)}):"]
    for name in names:
        made = f"{name}.make() if {name}.__class__ is Fresh else {name}"
        lines.append(f" self.{name} = {made if isinstance(defaults.get(name), _Fresh) else name}")
    exec("\n".join(lines if names else [*lines, " pass"]), known)
    return known["__init__"]


def _equals(self: Any, other: object) -> bool:
    names: tuple[str, ...] = self.__slots__
    return type(other) is type(self) and all(getattr(self, name) == getattr(other, name) for name in names)


def _hash(self: Any) -> int:
    return hash(tuple(getattr(self, name) for name in self.__slots__))


def _text(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"
