"""Changes of what a schema demands of texts and numbers, and of which values there are."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final

Found = Iterator[tuple[str, str]]
_UPPER: Final = {"maxLength": "MAX_LENGTH", "maximum": "MAXIMUM", "exclusiveMaximum": "EXCLUSIVE_MAXIMUM"}
_LOWER: Final = {"minLength": "MIN_LENGTH", "minimum": "MINIMUM", "exclusiveMinimum": "EXCLUSIVE_MINIMUM"}


def value_differences(old: dict[str, Any], new: dict[str, Any]) -> Found:
    yield from _values(old, new)
    for name, kind in (_UPPER | _LOWER).items():
        yield from bound(limit(old, name), limit(new, name), name, kind)
    yield from _pattern(old.get("pattern"), new.get("pattern"))
    yield from _multiple(old.get("multipleOf"), new.get("multipleOf"))


def bound(old: Any, new: Any, name: str, kind: str) -> Found:
    """Of a limit: what happened to it. Which directions are in the way, the kind says."""
    if old == new:
        return
    if old is None:
        yield f"{kind}_ADDED", name
    elif new is None:
        yield f"{kind}_REMOVED", name
    else:
        yield f"{kind}_{'INCREASED' if old < new else 'DECREASED'}", name


def limit(node: dict[str, Any], name: str) -> int | float | None:
    """A number; the fourth draft writes `maximum` and, beside it, whether that itself is excluded."""
    said = node.get(name)
    base = {"exclusiveMaximum": "maximum", "exclusiveMinimum": "minimum"}.get(name)
    if base is not None and isinstance(said, bool):
        said = node.get(base) if said else None
    partner = {"maximum": "exclusiveMaximum", "minimum": "exclusiveMinimum"}.get(name)
    if partner is not None and node.get(partner) is True:
        return None
    return said if isinstance(said, int | float) and not isinstance(said, bool) else None


def _values(old: dict[str, Any], new: dict[str, Any]) -> Found:
    before, after = _possible(old), _possible(new)
    if after is None:
        if before is not None:
            yield "ENUM_ARRAY_EXTENDED", "enum"
        return
    if before is None:
        yield "ENUM_ARRAY_NARROWED", "enum"
        return
    is_wider, is_narrower = (
        all(_has(other, each) for each in one) for one, other in ((before, after), (after, before))
    )
    if is_wider and is_narrower:
        return
    yield f"ENUM_ARRAY_{'EXTENDED' if is_wider else 'NARROWED' if is_narrower else 'CHANGED'}", "enum"


def _possible(node: dict[str, Any]) -> list[Any] | None:
    """A constant is an enum of one."""
    if "const" in node:
        return [node["const"]]
    found = node.get("enum")
    return found if isinstance(found, list) else None


def _has(values: list[Any], wanted: Any) -> bool:
    """True is not 1 here."""
    return any(each == wanted and isinstance(each, bool) == isinstance(wanted, bool) for each in values)


def _pattern(old: Any, new: Any) -> Found:
    if old == new:
        return
    yield f"PATTERN_{'ADDED' if old is None else 'REMOVED' if new is None else 'CHANGED'}", "pattern"


def _multiple(old: Any, new: Any) -> Found:
    try:
        before, after = (None if each is None else Decimal(str(each)) for each in (old, new))
        if before == after:
            return
        if before is None or after is None:
            yield f"MULTIPLE_OF_{'ADDED' if before is None else 'REMOVED'}", "multipleOf"
        elif before and after % before == 0:
            yield "MULTIPLE_OF_EXPANDED", "multipleOf"
        elif after and before % after == 0:
            yield "MULTIPLE_OF_REDUCED", "multipleOf"
        else:
            yield "MULTIPLE_OF_CHANGED", "multipleOf"
    except InvalidOperation:
        # Numbers so far apart that nobody can divide them.
        yield "MULTIPLE_OF_CHANGED", "multipleOf"
