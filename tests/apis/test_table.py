"""What is advertised is what is served, and the page about it is current."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.core.apis import table as apis_table
from penstock.core.apis.document import table
from penstock.core.apis.table import load_apis
from penstock.core.wire.api_table import APIS

ROOT = Path(__file__).parents[2]


def test_the_page_is_current() -> None:
    assert (ROOT / "docs/compatibility/apis.md").read_text() == table()


def test_every_api_file_is_in_the_table() -> None:
    """A handler that is written but not listed would be served by nobody."""
    folder = Path(apis_table.__file__).parent
    written = {path.stem for path in folder.glob("*.py") if "\nAPI = " in path.read_text()}
    load_apis()
    assert written == set(apis_table._MODULES)


def test_keys_are_unique_and_known() -> None:
    apis = load_apis()
    assert len(apis) == len(apis_table._MODULES)
    for key, api in apis.items():
        assert APIS[key].name == api.name
        assert "penstock.core.wire.api." + APIS[key].module in sys.modules
