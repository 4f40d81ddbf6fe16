"""Writes the table that finds an API's module, versions and listeners without importing the module."""

from tools.wiregen.definitions import Definition
from tools.wiregen.render import snake_case

HEADER = '''"""Every API in one table, so that a request header can be read before the API's module is imported."""

from typing import NamedTuple


class Api(NamedTuple):
    """The facts of one API: its versions, from which one they are flexible, and who listens for it."""

    key: int
    name: str
    module: str
    version_min: int
    version_max: int
    flexible_from: int
    on_brokers: bool
    on_controllers: bool


'''


def render_table(definitions: dict[str, Definition]) -> str:
    requests = sorted(
        (definition for definition in definitions.values() if definition.type == "request"),
        key=lambda definition: definition.api_key or 0,
    )
    rows = "".join(f"    {request.api_key}: {_row(request)},\n" for request in requests)
    return f"{HEADER}APIS: dict[int, Api] = {{\n{rows}}}\n"


def _row(request: Definition) -> str:
    name = request.name.removesuffix("Request")
    flexible_from = request.flexible.first if request.flexible else 0x7FFF
    versions = f"{request.versions.first}, {request.versions.last}, {flexible_from}"
    listeners = f"{'broker' in request.listeners}, {'controller' in request.listeners}"
    return f'Api({request.api_key}, "{name}", "{snake_case(name)}", {versions}, {listeners})'
