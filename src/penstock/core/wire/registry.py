"""Finds the classes of an API by its key, importing only that API's module."""

from functools import cache
from importlib import import_module

from penstock.core.wire.api_table import APIS, Api
from penstock.core.wire.schema import Request, Response

API_KEYS: tuple[int, ...] = tuple(APIS)
"""The keys of all APIs, rising."""


def api_name(key: int) -> str:
    """The name of an API, for people; unknown keys get one too."""
    api = APIS.get(key)
    return api.name if api else f"Unknown({key})"


def api_key(name: str) -> int:
    """The key of the API called `name`."""
    return _by_name()[name].key


@cache
def request_class(key: int) -> type[Request]:
    found: type[Request] = getattr(_module(APIS[key]), f"{APIS[key].name}Request")
    return found


@cache
def response_class(key: int) -> type[Response]:
    found: type[Response] = getattr(_module(APIS[key]), f"{APIS[key].name}Response")
    return found


@cache
def _by_name() -> dict[str, Api]:
    return {api.name: api for api in APIS.values()}


def _module(api: Api) -> object:
    return import_module(f"penstock.core.wire.api.{api.module}")
