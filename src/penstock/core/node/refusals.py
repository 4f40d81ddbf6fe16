"""Turn a response that can no longer be given into the same response with an error in it."""

from __future__ import annotations

from typing import Any

from penstock.core.base.errors import ErrorCode
from penstock.core.wire import Message


def refused(message: Message, code: ErrorCode) -> Message:
    """Put an error wherever the response has room for one: at its top, or at each item it reports on."""
    _refuse(message, int(code))
    return message


def _refuse(value: Any, code: int) -> None:
    spec = type(value).SPEC
    names = [field.name for field in spec.fields]
    if "error_code" in names:
        value.error_code = code
        return
    for name in names:
        inner = getattr(value, name)
        for item in inner if isinstance(inner, list) else ():
            if hasattr(type(item), "SPEC"):
                _refuse(item, code)
