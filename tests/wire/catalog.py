"""Every message we declare, and every version of it."""

import pkgutil
from functools import cache
from importlib import import_module

from penstock.core.wire import api, stored
from penstock.core.wire.schema import Message


@cache
def all_messages() -> tuple[type[Message], ...]:
    """The message classes of all modules, by name."""
    found: dict[str, type[Message]] = {}
    for package in (api, stored):
        for module in pkgutil.iter_modules(package.__path__):
            for value in vars(import_module(f"{package.__name__}.{module.name}")).values():
                if isinstance(value, type) and issubclass(value, Message) and len(value.VERSIONS):
                    found[value.__name__] = value
    return tuple(found[name] for name in sorted(found))


def all_versions() -> list[tuple[type[Message], int]]:
    return [(message, version) for message in all_messages() for version in message.VERSIONS]
