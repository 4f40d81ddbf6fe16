"""JSON within bounds: its size, its nesting, and how many objects it has."""

import json
from typing import Any

from penstock.schemas.model import NAMES_MAX, NESTING_MAX, SchemaError, check_size


def json_of(text: str) -> Any:
    check_size(text)
    try:
        value = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as failure:
        raise SchemaError(f"not JSON: {failure.msg} (line {failure.lineno}, column {failure.colno})") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as failure:
        # A number of thousands of digits.
        raise SchemaError(f"not JSON: {failure}") from None
    _check_shape(value)
    return value


def _no_number(text: str) -> None:
    raise SchemaError(f"not JSON: {text} is no number of JSON's")


def _check_shape(value: Any) -> None:
    level, objects, depth = [value], 0, 0
    while level:
        depth += 1
        if depth > NESTING_MAX:
            raise _too_deep()
        objects += sum(1 for each in level if isinstance(each, dict))
        if objects > NAMES_MAX:
            raise SchemaError(f"the schema has more than {NAMES_MAX} objects")
        level = [inner for each in level for inner in _inside(each)]


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _too_deep() -> SchemaError:
    return SchemaError(f"the schema is nested deeper than {NESTING_MAX}")
