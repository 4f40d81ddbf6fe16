"""How Java prints a value, which is how Kafka's tools and therefore its users know it."""

from __future__ import annotations

from typing import Any


def java_text(value: Any) -> str:
    """The text of a value inside a sentence: a list is shown in brackets."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return java_double(value)
        case tuple():
            return f"[{', '.join(value)}]"
        case None:
            return "null"
    return str(value)


def java_double(value: float) -> str:
    """Java switches to an exponent below 1e-3 and from 1e7 on, and always shows a fraction."""
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    # No setting has a default so large or so small, and this module is slow to load.
    from decimal import Decimal

    mantissa, _, exponent = format(Decimal(repr(value)).normalize(), "E").partition("E")
    fraction = "" if "." in mantissa else ".0"
    return f"{mantissa}{fraction}E{int(exponent)}"
