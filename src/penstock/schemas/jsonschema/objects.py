"""Changes of what a schema demands of objects and arrays: what is in them, and what else may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol

from penstock.schemas.jsonschema.schema import matcher
from penstock.schemas.jsonschema.values import bound

Found = Iterator[tuple[str, str]]
_NOTHING: Final = object()


class Comparison(Protocol):
    """What compares what is inside."""

    def between(self, old: Any, new: Any, path: str) -> list[tuple[str, str]]: ...

    def fits(self, old: Any, new: Any) -> bool: ...


def object_differences(comparison: Comparison, old: dict[str, Any], new: dict[str, Any]) -> Found:
    properties = _mapping(old, "properties"), _mapping(new, "properties")
    for name in dict.fromkeys((*properties[0], *properties[1])):
        path = f"properties/{name}"
        if name not in properties[1]:
            yield from _removed(comparison, properties[0][name], new, name, path)
        elif name not in properties[0]:
            yield from _added(comparison, old, new, name, path)
        else:
            yield from comparison.between(properties[0][name], properties[1][name], path)
    yield from _required(old, new, *properties)
    yield from _dependencies(comparison, old, new)
    for member, kind in (("additionalProperties", "ADDITIONAL"), ("unevaluatedProperties", "UNEVALUATED")):
        yield from _rest(comparison, old.get(member), new.get(member), member, f"{kind}_PROPERTIES")
    for name, kind in (("maxProperties", "MAX_PROPERTIES"), ("minProperties", "MIN_PROPERTIES")):
        yield from bound(old.get(name), new.get(name), name, kind)


def array_differences(comparison: Comparison, old: dict[str, Any], new: dict[str, Any]) -> Found:
    (first, rest), (new_first, new_rest) = _items(old), _items(new)
    for index, item in enumerate(new_first):
        if index < len(first):
            yield from comparison.between(first[index], item, f"items/{index}")
        else:
            yield from _item_added(comparison, rest, old, item, f"items/{index}")
    for index, item in enumerate(first[len(new_first) :], len(new_first)):
        yield from _item_removed(comparison, item, new_rest, new, f"items/{index}")
    is_tuple = bool(first or new_first)
    member = "additionalItems" if is_tuple else "items"
    if is_tuple:
        yield from _rest(comparison, rest, new_rest, member, "ADDITIONAL_ITEMS")
    elif rest is not None or new_rest is not None:
        yield from comparison.between(True if rest is None else rest, True if new_rest is None else new_rest, member)
    unevaluated = old.get("unevaluatedItems"), new.get("unevaluatedItems")
    yield from _rest(comparison, *unevaluated, "unevaluatedItems", "UNEVALUATED_ITEMS")
    for name, kind in (("maxItems", "MAX_ITEMS"), ("minItems", "MIN_ITEMS")):
        yield from bound(old.get(name), new.get(name), name, kind)
    if bool(old.get("uniqueItems")) != bool(new.get("uniqueItems")):
        yield f"UNIQUE_ITEMS_{'REMOVED' if old.get('uniqueItems') else 'ADDED'}", "uniqueItems"
    yield from _contains(comparison, old, new)


def _removed(comparison: Comparison, schema: Any, new: dict[str, Any], name: str, path: str) -> Found:
    """What the reader does not name any more, it may still let pass."""
    if _is_open(new):
        yield "PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL", path
        return
    covering = _covering(new, name)
    if covering is not _NOTHING:
        fits = comparison.fits(schema, covering)
        yield f"PROPERTY_REMOVED_{'IS' if fits else 'NOT'}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path
    elif schema is False:
        yield "PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL", path
    else:
        yield "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", path


def _added(comparison: Comparison, old: dict[str, Any], new: dict[str, Any], name: str, path: str) -> Found:
    """Under a name that the reader gets to know, the writer may have written anything that it let pass."""
    schema = new["properties"][name]
    is_required = name in _required_of(new)
    word = "OPTIONAL_PROPERTY"
    if is_required:
        has_default = isinstance(schema, dict) and "default" in schema
        word = "REQUIRED_PROPERTY_WITH_DEFAULT" if has_default else "REQUIRED_PROPERTY"
    if _is_open(old):
        if schema in (True, {}) and not is_required:
            yield "PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL", path
        else:
            yield f"{word}_ADDED_TO_OPEN_CONTENT_MODEL", path
        return
    covering = _covering(old, name)
    if covering is not _NOTHING:
        fits = comparison.fits(covering, schema)
        yield f"PROPERTY_ADDED_{'IS' if fits else 'NOT'}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path
    yield f"{word}_ADDED_TO_UNOPEN_CONTENT_MODEL", path


def _required(old: dict[str, Any], new: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> Found:
    was, now = _required_of(old), _required_of(new)
    for name in now:
        # Of properties that were added, it was said already.
        if name not in was and (name in before or name not in after):
            schema = after.get(name)
            has_default = isinstance(schema, dict) and "default" in schema
            yield f"REQUIRED_ATTRIBUTE{'_WITH_DEFAULT' if has_default else ''}_ADDED", f"required/{name}"
    for name in was:
        if name not in now and name in after:
            yield "REQUIRED_ATTRIBUTE_REMOVED", f"required/{name}"


def _dependencies(comparison: Comparison, old: dict[str, Any], new: dict[str, Any]) -> Found:
    before, after = _needs(old), _needs(new)
    for name in dict.fromkeys((*before, *after)):
        path, was, now = f"dependencies/{name}", before.get(name), after.get(name)
        is_list = isinstance(now if now is not None else was, list)
        word = "DEPENDENCY_ARRAY" if is_list else "DEPENDENCY_SCHEMA"
        if was is None or now is None:
            yield f"{word}_{'ADDED' if was is None else 'REMOVED'}", path
        elif isinstance(was, list) and isinstance(now, list):
            if set(was) != set(now):
                change = "EXTENDED" if set(was) < set(now) else "NARROWED" if set(now) < set(was) else "CHANGED"
                yield f"DEPENDENCY_ARRAY_{change}", path
        elif isinstance(was, list) or isinstance(now, list):
            yield "DEPENDENCY_ARRAY_CHANGED", path
        else:
            yield from comparison.between(was, now, path)


def _rest(comparison: Comparison, old: Any, new: Any, path: str, kind: str) -> Found:
    """What else may be there: anything where nothing is said."""
    old, new = (True if each is None or each == {} else each for each in (old, new))
    if old == new:
        return
    if old is False:
        yield f"{kind}_ADDED", path
    elif new is False:
        yield f"{kind}_REMOVED", path
    elif old is True:
        yield f"{kind}_NARROWED", path
    elif new is True:
        yield f"{kind}_EXTENDED", path
    else:
        yield from comparison.between(old, new, path)


def _item_added(comparison: Comparison, rest: Any, old: dict[str, Any], item: Any, path: str) -> Found:
    rest = old.get("unevaluatedItems") if rest is None else rest
    if rest is None or rest is True or rest == {}:
        is_empty = item in (True, {})
        yield f"ITEM_{'WITH_EMPTY_SCHEMA_' if is_empty else ''}ADDED_TO_OPEN_CONTENT_MODEL", path
    elif rest is False:
        yield "ITEM_ADDED_TO_CLOSED_CONTENT_MODEL", path
    else:
        fits = comparison.fits(rest, item)
        yield f"ITEM_ADDED_{'IS' if fits else 'NOT'}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path


def _item_removed(comparison: Comparison, item: Any, rest: Any, new: dict[str, Any], path: str) -> Found:
    rest = new.get("unevaluatedItems") if rest is None else rest
    if rest is None or rest is True or rest == {}:
        yield "ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL", path
    elif rest is False:
        yield f"ITEM_{'WITH_FALSE_' if item is False else ''}REMOVED_FROM_CLOSED_CONTENT_MODEL", path
    else:
        fits = comparison.fits(item, rest)
        yield f"ITEM_REMOVED_{'IS' if fits else 'NOT'}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path


def _contains(comparison: Comparison, old: dict[str, Any], new: dict[str, Any]) -> Found:
    if "contains" in new and not ("contains" in old and comparison.fits(old["contains"], new["contains"])):
        yield "MIN_CONTAINS_ADDED", "contains"
    elif "contains" in old and "contains" not in new:
        yield "MIN_CONTAINS_REMOVED", "contains"
    for name, kind in (("maxContains", "MAX_CONTAINS"), ("minContains", "MIN_CONTAINS")):
        yield from bound(old.get(name), new.get(name), name, kind)


def _items(node: dict[str, Any]) -> tuple[list[Any], Any]:
    """The schemas of the first items, and the one of all others; None where nothing is said of them."""
    items = node.get("items")
    if isinstance(node.get("prefixItems"), list):
        return node["prefixItems"], items
    if isinstance(items, list):
        return items, node.get("additionalItems")
    return [], items


def _is_open(node: dict[str, Any]) -> bool:
    """Whether anything may be there under names that are not named."""
    if _mapping(node, "patternProperties"):
        return False
    said = node.get("additionalProperties", node.get("unevaluatedProperties"))
    return said is None or said is True or said == {}


def _covering(node: dict[str, Any], name: str) -> Any:
    """The schema of what may be there under a name that is not named."""
    for pattern, schema in _mapping(node, "patternProperties").items():
        if matcher(pattern).is_valid(name):
            return schema
    said = node.get("additionalProperties", node.get("unevaluatedProperties"))
    return said if isinstance(said, dict) and said else _NOTHING


def _needs(node: dict[str, Any]) -> dict[str, Any]:
    """By its names in the older drafts and in the newer ones."""
    return _mapping(node, "dependencies") | _mapping(node, "dependentSchemas") | _mapping(node, "dependentRequired")


def _required_of(node: dict[str, Any]) -> list[str]:
    found = node.get("required")
    return found if isinstance(found, list) else []


def _mapping(node: dict[str, Any], name: str) -> dict[str, Any]:
    found = node.get(name)
    return found if isinstance(found, dict) else {}
