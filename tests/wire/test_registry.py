"""The table of APIs agrees with the declarations, and finding one class imports one module."""

import subprocess
import sys

import pytest

from penstock.core.wire import registry
from penstock.core.wire.api_table import APIS
from penstock.core.wire.schema import Request, Response
from tests.wire.catalog import all_messages

BROKER_APIS = 77


@pytest.mark.parametrize("key", registry.API_KEYS)
def test_the_table_agrees_with_the_declarations(key: int) -> None:
    api = APIS[key]
    for found in (registry.request_class(key), registry.response_class(key)):
        assert found.KEY == api.key == key
        assert (found.VERSIONS.start, found.VERSIONS[-1]) == (api.version_min, api.version_max)
        assert api.flexible_from == found.FLEXIBLE_FROM
    assert registry.request_class(key).__name__ == f"{api.name}Request"
    assert registry.api_key(api.name) == key


def test_every_request_and_response_is_in_the_table() -> None:
    declared = {m.KEY for m in all_messages() if issubclass(m, Request | Response)}
    assert set(registry.API_KEYS) == declared


def test_a_broker_lists_as_many_as_kafka() -> None:
    assert sum(api.on_brokers for api in APIS.values()) == BROKER_APIS


def test_names() -> None:
    assert registry.api_name(0) == "Produce"
    assert registry.api_name(4) == "Unknown(4)"


def test_one_lookup_imports_one_module() -> None:
    script = (
        "import sys; from penstock.core.wire import registry; registry.request_class(0);"
        "print([name for name in sys.modules if name.startswith('penstock.core.wire.api.')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['penstock.core.wire.api.produce']"
