"""How a request is refused: a response that says one error and nothing else, derived from the response's declaration.

A response that has a place for an error of the whole gets it there. In any other each thing asked for has a place of
its own: the request's array is gone through beside the response's, and what names a thing is taken over. An API whose
answer Kafka makes in another way brings its own refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

from penstock.core.base.errors import ErrorCode
from penstock.core.wire.fields import STRUCT, ZERO_UUID, Field
from penstock.core.wire.registry import response_class
from penstock.core.wire.schema import Request, Response, Struct

S = TypeVar("S", bound=Struct)
R = TypeVar("R", bound=Response)
Refusal = Callable[[Any, int, ErrorCode, str | None], Response]
"""Request, version, code and message give a response."""

CODE, MESSAGE = "error_code", "error_message"
CODES = frozenset((CODE, "partition_error_code"))
"""What an error is called where it is told: AddPartitionsToTxn has a name of its own for it."""
NO_OFFSET = -1


def refusal(request: Request, version: int, code: ErrorCode, message: str | None = None) -> Response:
    """The response to a request that says `code` and nothing else."""
    response = response_class(request.KEY)()
    _fill(response, request, type(request), version, int(code), message)
    return response


def refusal_of_each(request: Request, version: int, code: ErrorCode) -> Response:
    """The response that says `code` of each thing in the first array of a request, and nothing of the whole."""
    response = response_class(request.KEY)()
    _fill_each(response, request, type(request), version, int(code), None)
    return response


def joined(response: R, others: Iterable[R]) -> R:
    """A response that tells of what several ones tell, one thing after the other."""
    names = _telling_fields(type(response))
    for other in others:
        for name in names:
            if name not in CODES and (more := getattr(other, name)):
                setattr(response, name, [*(getattr(response, name) or ()), *more])
    return response


def says(message: Struct, code: ErrorCode) -> bool:
    """Whether a response has an error anywhere."""
    return any(each == code for each in codes_in(message))


def codes_in(message: Struct) -> list[int]:
    """Every error code that a response has, NONE too."""
    found: list[int] = []
    for name in _telling_fields(type(message)):
        value = getattr(message, name)
        if name in CODES:
            found.append(value)
        else:
            for item in value or ():
                found += codes_in(item)
    return found


def overwritten(message: S, code: ErrorCode) -> S:
    """Turn a response that can no longer be given, or a part of one, into the same with an error wherever it has
    room for one: at its top, or at each thing that it reports on."""
    _overwrite(message, int(code))
    return message


def _fill(answer: Struct, asked: object, asked_as: type[Struct], version: int, code: int, message: str | None) -> None:
    """Put the error where it belongs, and go on below if it is not here."""
    if _has(type(answer), CODE, version):
        setattr(answer, CODE, code)
        for name in _offsets(type(answer), version):
            setattr(answer, name, NO_OFFSET)
        if _has(type(answer), MESSAGE, version):
            setattr(answer, MESSAGE, message)
        return
    _fill_each(answer, asked, asked_as, version, code, message)


def _fill_each(
    answer: Struct, asked: object, asked_as: type[Struct], version: int, code: int, message: str | None
) -> None:
    pair = _arrays(type(answer), asked_as, version)
    if pair is None:
        return
    theirs, ours = pair
    assert theirs.element is not None
    assert ours.element is not None
    assert ours.element.struct is not None
    made: type[Struct] = ours.element.struct.python_class
    items = []
    for each in getattr(asked, theirs.name) or ():
        item = made()
        if theirs.element.kind == STRUCT:
            _name_after(item, each, version)
            _fill(item, each, type(each), version, code, message)
        else:
            _call(item, theirs.element.kind, each, version)
            _fill(item, None, type(item), version, code, message)
        items.append(item)
    setattr(answer, ours.name, items)


def _name_after(item: Struct, asked: Struct, version: int) -> None:
    """Take over what names a thing. Fields of one name are the same; where there are none, the first of a kind is, as a
    partition's index is called in several ways."""
    same, first = _names_in_both(type(item), type(asked), version)
    for name in same:
        setattr(item, name, getattr(asked, name))
    if first is not None and not same:
        _call(item, first.kind, getattr(asked, first.name), version)


@cache
def _names_in_both(ours: type[Struct], theirs: type[Struct], version: int) -> tuple[tuple[str, ...], Field | None]:
    """The fields that name a thing in an answer and in what was asked; and the first one that does so there."""
    known = {field.name for field in ours.SPEC.fields if _names(field, version)}
    asked = [field for field in theirs.SPEC.fields if _names(field, version)]
    return tuple(field.name for field in asked if field.name in known), asked[0] if asked else None


def _call(item: Struct, kind: str, name: object, version: int) -> None:
    """Give a thing its name, if the answer has a field for it."""
    found = _name_field(type(item), kind, version)
    if found is not None:
        setattr(item, found, name)


@cache
def _name_field(kind: type[Struct], of: str, version: int) -> str | None:
    return next((each.name for each in kind.SPEC.fields if each.kind == of and _names(each, version)), None)


def _names(field: Field, version: int) -> bool:
    """Whether a field can name a thing: what has a default of its own says something about it."""
    is_plain = (field.kind in _NAMING and not field.default) or field.default == ZERO_UUID
    return is_plain and field.exists_in(version) and field.name not in (CODE, MESSAGE)


_NAMING = frozenset({"string", "int32", "int64", "int8", "uuid"})


@cache
def _offsets(kind: type[Struct], version: int) -> tuple[str, ...]:
    """Long numbers without a default: they are offsets, and there is none."""
    fields = kind.SPEC.fields
    return tuple(each.name for each in fields if each.kind == "int64" and not each.default and each.exists_in(version))


@cache
def _has(kind: type[Struct], name: str, version: int) -> bool:
    return any(field.name == name and field.exists_in(version) for field in kind.SPEC.fields)


@cache
def _arrays(answer: type[Struct], asked: type[Struct], version: int) -> tuple[Field, Field] | None:
    """The array of the request, and the one of the response that reports on it."""
    ours = next((each for each in _array_fields(answer, version) if _tells(each, version)), None)
    if ours is None:
        return None
    theirs = _array_fields(asked, version)
    namesake = next((each for each in theirs if each.name == ours.name), None)
    found = namesake or (theirs[0] if theirs else None)
    return None if found is None else (found, ours)


def _array_fields(kind: type[Struct], version: int) -> list[Field]:
    return [field for field in kind.SPEC.fields if field.element is not None and field.exists_in(version)]


def _tells(field: Field, version: int) -> bool:
    """Whether the elements of an array have room for an error, or what they hold has."""
    inner = field.element
    if inner is None or inner.struct is None:
        return False
    kind = inner.struct.python_class
    return _has(kind, CODE, version) or any(_tells(each, version) for each in _array_fields(kind, version))


def _overwrite(value: Struct, code: int) -> None:
    for name in _telling_fields(type(value)):
        if name in CODES:
            setattr(value, name, code)
            return
    for name in _telling_fields(type(value)):
        for item in getattr(value, name) or ():
            _overwrite(item, code)


@cache
def _telling_fields(kind: type[Struct]) -> tuple[str, ...]:
    """The fields in which a message, or a struct of it, can have an error."""
    fields = kind.SPEC.fields
    return tuple(each.name for each in fields if each.name in CODES or (each.element and each.element.struct))
