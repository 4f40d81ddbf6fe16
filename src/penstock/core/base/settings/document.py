"""`python -m penstock.core.base.settings.document` prints the page on settings, from the declarations themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Final

from penstock.core.base.settings.key import REQUIRED, Key, Scope, Standing
from penstock.core.base.settings.registry import BROKER_KEYS, GROUP_KEYS, TOPIC_KEYS
from penstock.core.base.settings.values import format_value

_INTRODUCTION: Final = """\
# Settings

Penstock knows every topic, group and broker setting of Kafka 4.3, and a few of its own (`penstock.*`). Each is in one
of three classes:

- **acts**: changing it changes what the node does;
- **no meaning**: there is nothing here for it to change; a node that is given one says so in a warning and starts;
- **refused**: it is about safety or secrecy and cannot act yet; a node that is given another value than the default
  does not start, and says why.

`penstock config check FILE` prints the class of every setting in a file. An unknown name is reported with the nearest
known one and otherwise ignored, as Kafka does.

This page is written by `python -m penstock.core.base.settings.document`.
"""
_SECTIONS: Final = (
    (Standing.ACTS, "Settings that act"),
    (Standing.NO_MEANING, "Settings without meaning here"),
    (Standing.REFUSED, "Settings that are refused"),
)


def document() -> str:
    parts = [_INTRODUCTION]
    for title, keys in (("Topics", TOPIC_KEYS), ("Brokers", BROKER_KEYS), ("Groups", GROUP_KEYS)):
        parts.extend(_chapter(title, keys))
    return "\n".join(parts)


def _chapter(title: str, keys: Mapping[str, Key]) -> Iterator[str]:
    yield f"## {title}\n"
    yield from _counts(keys)
    for standing, heading in _SECTIONS:
        rows = [_row(key) for key in keys.values() if key.standing is standing]
        if rows:
            yield f"### {title}: {heading.lower()}\n"
            yield "| setting | type | default | allowed | changes | what it is |\n|---|---|---|---|---|---|"
            yield "\n".join(rows) + "\n"


def _counts(keys: Mapping[str, Key]) -> Iterator[str]:
    counts = {standing: sum(key.standing is standing for key in keys.values()) for standing, _ in _SECTIONS}
    yield ", ".join(f"{count} {standing.value}" for standing, count in counts.items()) + ".\n"


def _row(key: Key) -> str:
    doc = f"{key.doc} *{key.why[0].upper()}{key.why[1:]}.*" if key.why else key.doc
    allowed = "" if key.valid is None else str(key.valid)
    cells = (f"`{key.name}`", key.kind.name.lower(), _default(key), allowed, _change(key), doc)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _change(key: Key) -> str:
    return key.dynamic.value if key.scope is Scope.BROKER else "at any time"


def _default(key: Key) -> str:
    if key.default is REQUIRED:
        return "required"
    text = format_value(key, key.default)
    shown = "none" if text is None else f"`{text}`" if text else "empty"
    return f"{shown} from `{key.synonyms[0].name}`" if key.synonyms else shown


if __name__ == "__main__":
    sys.stdout.write(document())
