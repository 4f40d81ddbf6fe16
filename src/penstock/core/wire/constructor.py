"""Writes the keyword constructor of a struct class."""

from collections.abc import Callable

from penstock.core.wire.fields import ARRAY, STRUCT, StructSpec
from penstock.core.wire.source import Source

_UNSET = object()


def compile_constructor(spec: StructSpec) -> Callable[..., None]:
    """An `__init__` that takes every field as a keyword and gives each instance its own lists and structs."""
    source = Source(UNSET=_UNSET)
    parameters: list[str] = []
    values: list[tuple[str, str]] = []
    for field in spec.fields:
        value = field.name
        if field.kind in (ARRAY, STRUCT) and field.default is not None:
            assert field.kind == ARRAY or field.struct is not None
            fresh = "[]" if field.struct is None else f"{source.constant('C', field.struct.python_class)}()"
            default, value = "UNSET", f"{fresh} if {field.name} is UNSET else {field.name}"
        else:
            default = source.constant("D", field.default)
        parameters.append(f"{field.name}={default}")
        values.append((field.name, value))
    star = "*, " if parameters else ""
    with source.block(f"def __init__(self, {star}{', '.join(parameters)}):"):
        for name, value in values:
            source.line(f"self.{name} = {value}")
    constructor: Callable[..., None] = source.compile("__init__", f"<constructor of {spec.name}>")
    return constructor
