"""What changes for JSON data that is read with another schema than it was written with.

The question at each place is whether the reader accepts whatever the writer does. A schema is what its members demand
together; one that says nothing accepts everything. Kinds have the names under which registries document them, and so
has the rule that a property may be added only where the writer let no others pass: data of an open writer may hold
anything under that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from penstock.schemas.jsonschema.documents import Documents
from penstock.schemas.jsonschema.matching import pairs_max
from penstock.schemas.jsonschema.objects import array_differences, object_differences
from penstock.schemas.jsonschema.values import value_differences
from penstock.schemas.model import Difference, Effort

TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
SUMS: Final = ("oneOf", "anyOf")
INCOMPATIBLE: Final = frozenset(
    {
        *("TYPE_CHANGED", "TYPE_NARROWED", "COMBINED_TYPE_CHANGED", "COMBINED_TYPE_SUBSCHEMAS_CHANGED"),
        *("PRODUCT_TYPE_EXTENDED", "SUM_TYPE_NARROWED", "NOT_TYPE_EXTENDED", "CONDITION_CHANGED"),
        *("ENUM_ARRAY_NARROWED", "ENUM_ARRAY_CHANGED", "PATTERN_ADDED", "PATTERN_CHANGED"),
        *("MAX_LENGTH_ADDED", "MAX_LENGTH_DECREASED", "MIN_LENGTH_ADDED", "MIN_LENGTH_INCREASED"),
        *("MAXIMUM_ADDED", "MAXIMUM_DECREASED", "MINIMUM_ADDED", "MINIMUM_INCREASED"),
        *("EXCLUSIVE_MAXIMUM_ADDED", "EXCLUSIVE_MAXIMUM_DECREASED"),
        *("EXCLUSIVE_MINIMUM_ADDED", "EXCLUSIVE_MINIMUM_INCREASED"),
        *("MULTIPLE_OF_ADDED", "MULTIPLE_OF_EXPANDED", "MULTIPLE_OF_CHANGED"),
        *("MAX_PROPERTIES_ADDED", "MAX_PROPERTIES_DECREASED", "MIN_PROPERTIES_ADDED", "MIN_PROPERTIES_INCREASED"),
        *("REQUIRED_ATTRIBUTE_ADDED", "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"),
        *(
            "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
            "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        ),
        *("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"),
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        *("ADDITIONAL_PROPERTIES_REMOVED", "ADDITIONAL_PROPERTIES_NARROWED"),
        *("UNEVALUATED_PROPERTIES_REMOVED", "UNEVALUATED_PROPERTIES_NARROWED"),
        *("DEPENDENCY_ARRAY_ADDED", "DEPENDENCY_ARRAY_EXTENDED", "DEPENDENCY_ARRAY_CHANGED", "DEPENDENCY_SCHEMA_ADDED"),
        *("MAX_ITEMS_ADDED", "MAX_ITEMS_DECREASED", "MIN_ITEMS_ADDED", "MIN_ITEMS_INCREASED", "UNIQUE_ITEMS_ADDED"),
        *("MAX_CONTAINS_ADDED", "MAX_CONTAINS_DECREASED", "MIN_CONTAINS_ADDED", "MIN_CONTAINS_INCREASED"),
        *("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL"),
        *(
            "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
            "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        ),
        *(
            "ADDITIONAL_ITEMS_REMOVED",
            "ADDITIONAL_ITEMS_NARROWED",
            "UNEVALUATED_ITEMS_REMOVED",
            "UNEVALUATED_ITEMS_NARROWED",
        ),
    }
)
"""What is in the way; all else is not."""

Found = Iterator[tuple[str, str]]
"""Kinds and places."""


def compare(reader: Documents, writer: Documents) -> list[Difference]:
    found = _Comparison(reader, writer).between(writer.main.root, reader.main.root, "#/")
    return [
        Difference(kind, path, kind.replace("_", " ").lower(), kind not in INCOMPATIBLE)
        for kind, path in dict.fromkeys(found)
    ]


class _Comparison:
    """Pairs that were compared are not compared again; a pair that is met within itself is taken to fit."""

    def __init__(self, reader: Documents, writer: Documents) -> None:
        self._reader, self._writer = reader, writer
        self._effort = Effort()
        self._known: dict[tuple[int, int], list[tuple[str, str]]] = {}
        self._kept: list[Any] = []

    def between(self, old: Any, new: Any, path: str) -> list[tuple[str, str]]:
        """From what was written to what reads."""
        self._effort.spend()
        key = (id(old), id(new))
        if key not in self._known:
            # Identities are good for as long as what has them is there.
            self._kept += [old, new]
            self._known[key] = []
            self._known[key] = list(self._compare(old, new))
        found = self._known[key]
        # What is found inside is carried outwards, level by level.
        self._effort.spend(len(found))
        return [(kind, _joined(path, place)) for kind, place in found]

    def fits(self, old: Any, new: Any) -> bool:
        return all(kind not in INCOMPATIBLE for kind, _ in self.between(old, new, ""))

    def _compare(self, old: Any, new: Any) -> Found:
        old, new = self._plain(old, self._writer), self._plain(new, self._reader)
        if old is False or _says_nothing(new):
            return
        if new is False or old is True:
            old = {} if old is True else old
            if new is False:
                yield "TYPE_CHANGED", ""
                return
        if (whole := self._as_a_whole(old, new)) is not None:
            yield whole, ""
            return
        yield from _annotations(old, new)
        types = _types(old), _types(new)
        if types[0] is not None or types[1] is not None:
            changed = _type_change(*types)
            if changed is not None:
                yield changed, ""
            if changed in ("TYPE_CHANGED", "TYPE_NARROWED"):
                return
        yield from value_differences(old, new)
        both = (types[0] or frozenset(TYPES)) & (types[1] or frozenset(TYPES))
        if "object" in both:
            yield from object_differences(self, old, new)
        if "array" in both:
            yield from array_differences(self, old, new)
        yield from self._negations(old, new)
        yield from self._conditions(old, new)
        yield from self._products(old, new)
        yield from self._sums(old, new)

    def _as_a_whole(self, old: dict[str, Any], new: dict[str, Any]) -> str | None:
        """Where branches of the writer alone say that the reader takes all, the rest need not be looked at."""
        product, branches = old.get("allOf") or [], _sum(old)
        if "allOf" not in new and _sum(new) is None and any(self.fits(each, new) for each in product):
            return "PRODUCT_TYPE_NARROWED"
        if branches is not None and _sum(new) is None and all(self.fits(each, new) for each in branches[1]):
            return "COMBINED_TYPE_EXTENDED"
        return None

    def _plain(self, node: Any, documents: Documents) -> Any:
        """With what a `$ref` means in its place."""
        seen: set[int] = set()
        while isinstance(node, dict) and "$ref" in node and id(node) not in seen:
            seen.add(id(node))
            target = documents.resolve(node)
            beside = {name: value for name, value in node.items() if name not in ("$ref", "$schema", "$id")}
            if not (documents.home(node).siblings_count and _demands(beside)):
                node = target
                continue
            made = beside | {"allOf": [*beside.get("allOf", ()), target]}
            self._kept.append(made)
            return made
        if not isinstance(node, dict):
            return node
        return {} if "$ref" in node else self._with_product(node)

    def _with_product(self, node: dict[str, Any]) -> dict[str, Any]:
        """A sum of one branch demands just what it does."""
        single = [node[name][0] for name in SUMS if isinstance(node.get(name), list) and len(node[name]) == 1]
        if not single:
            return node
        kept = _without(node, *(name for name in SUMS if isinstance(node.get(name), list) and len(node[name]) == 1))
        made = kept | {"allOf": [*node.get("allOf", ()), *single]}
        self._kept.append(made)
        return made

    def _negations(self, old: dict[str, Any], new: dict[str, Any]) -> Found:
        if "not" in new and "not" not in old:
            yield "NOT_TYPE_EXTENDED", "not"
        elif "not" in old and "not" not in new:
            yield "NOT_TYPE_NARROWED", "not"
        elif "not" in old and old["not"] != new["not"]:
            # What the reader rules out the writer must have ruled out.
            backwards = _Comparison(self._writer, self._reader)
            backwards._effort = self._effort
            yield "NOT_TYPE_NARROWED" if backwards.fits(new["not"], old["not"]) else "NOT_TYPE_EXTENDED", "not"

    def _conditions(self, old: dict[str, Any], new: dict[str, Any]) -> Found:
        said = [{name: each.get(name) for name in ("if", "then", "else")} for each in (old, new)]
        if "if" in new and said[0] != said[1]:
            yield "CONDITION_CHANGED", "if"
        elif "if" in old and "if" not in new:
            yield "PRODUCT_TYPE_NARROWED", "if"

    def _products(self, old: dict[str, Any], new: dict[str, Any]) -> Found:
        before, after = old.get("allOf") or [], new.get("allOf") or []
        if not before and not after:
            return
        rest = _without(old, "allOf")
        for index, branch in enumerate(after):
            demands = [*before, rest] if _demands(rest) or not before else before
            if any(self.fits(each, branch) for each in demands):
                continue
            if len(before) == len(after):
                yield from self.between(before[index], branch, f"allOf/{index}")
                yield "COMBINED_TYPE_SUBSCHEMAS_CHANGED", "allOf"
            else:
                yield "PRODUCT_TYPE_EXTENDED", f"allOf/{index}"
        if len(after) < len(before):
            yield "PRODUCT_TYPE_NARROWED", "allOf"

    def _sums(self, old: dict[str, Any], new: dict[str, Any]) -> Found:
        before, after = _sum(old), _sum(new)
        if after is None:
            if before is not None:
                yield from self._sum_gone(before[1], new, before[0])
            return
        name, branches = after
        if before is None:
            if not any(self.fits(said, each) for each in branches for said in (old, *(old.get("allOf") or ()))):
                yield "TYPE_CHANGED" if len(branches) > 1 else "PRODUCT_TYPE_EXTENDED", name
            elif len(branches) > 1:
                yield "SUM_TYPE_EXTENDED", name
            return
        yield from self._sum_changes(before, after)

    def _sum_gone(self, branches: list[Any], new: dict[str, Any], name: str) -> Found:
        """The reader demands what each of the writer's branches keeps."""
        rest = _without(new, *_NOT_BRANCHES)
        if _demands(rest) and not all(self.fits(each, rest) for each in branches):
            yield "TYPE_CHANGED", name

    def _sum_changes(self, before: tuple[str, list[Any]], after: tuple[str, list[Any]]) -> Found:
        (was, old), (name, new) = before, after
        if was != name:
            is_wider = name == "anyOf" or len(old) == 1
            yield "COMBINED_TYPE_EXTENDED" if is_wider else "COMBINED_TYPE_CHANGED", ""
            if not is_wider:
                return
        if len(new) > len(old):
            yield "SUM_TYPE_EXTENDED", name
        elif len(new) < len(old):
            yield "SUM_TYPE_NARROWED", name
        fitting = [[at for at, each in enumerate(new) if self.fits(branch, each)] for branch in old]
        matched = pairs_max(fitting, len(new)) if name == "oneOf" else sum(1 for each in fitting if each)
        if matched < min(len(old), len(new)):
            yield "COMBINED_TYPE_SUBSCHEMAS_CHANGED", name


_NOT_BRANCHES: Final = ("oneOf", "anyOf", "definitions", "$defs", "$schema", "$id", "id")
_SAY_NOTHING: Final = frozenset(
    {
        *(
            "$schema",
            "$id",
            "id",
            "$comment",
            "$anchor",
            "$dynamicAnchor",
            "title",
            "description",
            "default",
            "examples",
        ),
        *(
            "definitions",
            "$defs",
            "readOnly",
            "writeOnly",
            "deprecated",
            "format",
            "contentEncoding",
            "contentMediaType",
        ),
    }
)


def _says_nothing(node: Any) -> bool:
    return node is True or (isinstance(node, dict) and not _demands(node))


def _demands(node: dict[str, Any]) -> bool:
    return any(name not in _SAY_NOTHING and "." not in name and not name.startswith("x-") for name in node)


def _without(node: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name not in names}


def _joined(path: str, place: str) -> str:
    return path + place if not path or path.endswith("/") or not place else f"{path}/{place}"


def _annotations(old: dict[str, Any], new: dict[str, Any]) -> Found:
    for name, kind in (("title", "TITLE"), ("description", "DESCRIPTION"), ("default", "DEFAULT"), ("$id", "ID")):
        if old.get(name) != new.get(name):
            yield f"{kind}_CHANGED", ""


def _types(node: dict[str, Any]) -> frozenset[str] | None:
    """Those that a schema allows; None where it does not say, and nothing in it tells."""
    said = node.get("type")
    if isinstance(said, str):
        return frozenset({said})
    if isinstance(said, list):
        return frozenset(map(str, said))
    return None


def _type_change(old: frozenset[str] | None, new: frozenset[str] | None) -> str | None:
    if old == new:
        return None
    if new is None:
        return "TYPE_EXTENDED"
    if old is None:
        return "TYPE_NARROWED"
    taken = new | {"integer"} if "number" in new else new
    if old <= taken:
        return "TYPE_EXTENDED"
    widened = old | {"integer"} if "number" in old else old
    return "TYPE_NARROWED" if widened & taken else "TYPE_CHANGED"


def _sum(node: dict[str, Any]) -> tuple[str, list[Any]] | None:
    return next(((name, node[name]) for name in SUMS if isinstance(node.get(name), list)), None)
