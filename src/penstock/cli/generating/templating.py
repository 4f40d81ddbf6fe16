"""Templates with their gaps filled: a name in @AT@ signs is a gap."""

from __future__ import annotations

import re
from importlib.resources import files

from penstock.cli.generating import templates

_GAP = re.compile(r"@([A-Z_]+)@")


def filled(name: str, **values: str) -> str:
    """A template with a value in each gap."""
    text = files(templates).joinpath(name).read_text()
    return _GAP.sub(lambda gap: values[gap.group(1).lower()], text)
