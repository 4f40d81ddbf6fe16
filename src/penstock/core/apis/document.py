"""The table of APIs for docs/compatibility/apis.md: `python -m penstock.core.apis.document`."""

from __future__ import annotations

import sys

from penstock.core.apis.table import load_apis
from penstock.core.wire.api_table import APIS

_HEAD = """# APIs

Made by `python -m penstock.core.apis.document`; a test holds it current. "Kafka" is what a 4.3 broker or controller
knows of that API; "here" is what this node serves and advertises. An API without an entry is neither served nor
advertised, and a request for it closes the connection, as an unknown key does in Kafka.

| key | API | Kafka | here |
|---|---|---|---|
"""


def table() -> str:
    served = load_apis()
    rows = []
    for key, facts in sorted(APIS.items()):
        api = served.get(key)
        here = "" if api is None else f"{api.versions[0]}-{api.versions[-1]}"
        rows.append(f"| {key} | {facts.name} | {facts.version_min}-{facts.version_max} | {here} |")
    return _HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
