"""The table of APIs for docs/compatibility/apis.md: `python -m penstock.core.apis.document`."""

from __future__ import annotations

import sys
from typing import Any

from penstock.core.apis.table import load_apis
from penstock.core.node.serving.api import Api
from penstock.core.wire.api_table import APIS

_HEAD = """# APIs

Made by `python -m penstock.core.apis.document`; a test holds it current. "Kafka" is what a 4.3 broker or controller
knows of that API; "here" is what this node serves and advertises. An API without an entry is neither served nor
advertised, and a request for it closes the connection, as an unknown key does in Kafka. Versions that Kafka may still
change are served where `unstable.api.versions.enable` says so. "Runs" says where it is
answered, "touches" what a client must be allowed to do once an authorizer is set.

| key | API | Kafka | here | runs | touches |
|---|---|---|---|---|---|
"""


def table() -> str:
    served = load_apis(with_unstable=True)
    rows = []
    for key, facts in sorted(APIS.items()):
        api = served.get(key)
        here = " | | |" if api is None else _here(api)
        rows.append(f"| {key} | {facts.name} | {facts.version_min}-{facts.version_max} |{here}")
    return _HEAD + "\n".join(rows) + "\n"


def _here(api: Api[Any]) -> str:
    runs = f"{api.runs.value}, forwarded" if api.is_forwarded else api.runs.value
    touches = ", ".join(dict.fromkeys(each.text for each in api.touches))
    unstable = [str(version) for version in api.versions if version not in api.final]
    enabled = f", {', '.join(unstable)} where enabled" if unstable else ""
    return f" {api.final[0]}-{api.final[-1]}{enabled} | {runs} | {touches} |"


if __name__ == "__main__":
    sys.stdout.write(table())
