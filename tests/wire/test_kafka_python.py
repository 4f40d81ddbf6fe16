"""Differential test against kafka-python, whose codecs are compiled from its own copy of the schemas."""

import pkgutil
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from penstock.core.wire.schema import Message
from tests.examples import scaled
from tests.wire.arbitrary import Arbitrary
from tests.wire.catalog import all_messages

EXAMPLES = scaled(5)
KNOWN_MIN = 100
SKIPPED_MODULES = ("kafka.protocol.old", "kafka.protocol.generate_stubs")


def load_base() -> type[Any]:
    """Imports all of its protocol and hands back the class that every message derives from."""
    with warnings.catch_warnings():
        # It reads its schemas through a function that the standard library has deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        package = import_module("kafka.protocol")
        for module in pkgutil.walk_packages(package.__path__, "kafka.protocol."):
            if not module.name.startswith(SKIPPED_MODULES):
                import_module(module.name)
    base: type[Any] = import_module("kafka.protocol.api_message").ApiMessage
    return base


def subclasses(parent: type[Any]) -> Iterator[type[Any]]:
    for child in parent.__subclasses__():
        yield child
        yield from subclasses(child)


API_MESSAGE = load_base()
KNOWN = {found.__name__: found for found in subclasses(API_MESSAGE)}


def test_most_messages_are_known_to_it() -> None:
    assert sum(message.__name__ in KNOWN for message in all_messages()) >= KNOWN_MIN


@pytest.mark.parametrize(
    "message", [m for m in all_messages() if m.__name__ in KNOWN], ids=lambda message: message.__name__
)
def test_same_bytes(message: type[Message]) -> None:
    theirs = KNOWN[message.__name__]
    for version in [version for version in message.VERSIONS if version <= theirs.max_version]:
        source = Arbitrary(f"kafka-python {message.__name__} {version}", modest=True)
        for value in [source.message(message, version) for _ in range(EXAMPLES)]:
            encoded = value.encode(version)
            # The class method of the base is called because ApiVersionsResponse tries version 0 first in its own.
            decoded = API_MESSAGE.decode.__func__(theirs, encoded, version=version)
            decoded._header = None
            written = bytes(decoded.encode(version=version))
            assert written == encoded
            assert message.decode(written, version) == value
