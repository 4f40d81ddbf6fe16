"""What a node says, as lines on stderr: time, level, node, component, fact."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from penstock.core.base.shown import shown
from penstock.core.node.observing.event_log import Fact, Tell
from penstock.core.node.observing.levels import SEVERITY

Format = Callable[[Fact, int, float], str]


def printing(node_id: int, form: Format | None = None) -> Tell:
    """Say facts of a node on stderr."""

    def tell(fact: Fact) -> None:
        # Who cannot be told, because the disk is full that stderr goes to for example, must not stop who tells.
        with suppress(OSError):
            print((form or line)(fact, node_id, time.time()), file=sys.stderr, flush=True)

    return tell


def line(fact: Fact, node_id: int, now_s: float) -> str:
    """The time is UTC, so that the lines of several machines can be put in order. A fact is one line, whatever it
    quotes, and no terminal obeys it."""
    text = shown(" ".join(fact.text.splitlines()))
    return f"{_at(now_s)} {SEVERITY[fact.level]:5} node-{node_id} {fact.component}: {text}"


def as_json(fact: Fact, node_id: int, now_s: float) -> str:
    """The same for programs: one object a line, whose fields stay."""
    fields = {"time": _at(now_s), "level": SEVERITY[fact.level], "node": node_id, "component": fact.component}
    return json.dumps({**fields, "text": fact.text})


def _at(now_s: float) -> str:
    whole = int(now_s)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{int((now_s - whole) * 1000):03}Z"


FORMATS: Final[Mapping[str, Format]] = {"text": line, "json": as_json}
