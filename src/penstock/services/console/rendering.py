"""Templates: text is escaped wherever it stands, a missing name is an error, and figures look alike on all pages."""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

HERE: Final = Path(__file__).parent
STATIC: Final = HERE / "static"
UNKNOWN: Final = "\N{EN DASH}"
_APART: Final = "\N{NARROW NO-BREAK SPACE}"
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


class Templates:
    """All of them, compiled when the console starts."""

    def __init__(self, **values: Any) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {"size": size, "count": count, "moment": moment, "ago": ago, "query": urlencode}
        self._environment.globals |= {"static": static_url, **values}
        for name in self._environment.list_templates():
            self._environment.get_template(name)

    def render(self, name: str, /, **values: Any) -> str:
        return self._environment.get_template(name).render(values)


def _mark() -> str:
    digest = hashlib.sha256()
    for path in sorted(STATIC.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


_MARK: Final = _mark()


def static_url(name: str) -> str:
    """With a mark of what is in it, so that browsers may keep it."""
    return f"/static/{name}?{_MARK}"


def size(value: float | None) -> str:
    """Bytes, as people say them."""
    if value is None:
        return UNKNOWN
    unit = 0
    while abs(value) >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 or value >= 100 else f"{value:.1f} {_UNITS[unit]}"


def count(value: float | None) -> str:
    """Thousands stand apart; what is not known is a dash."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}".replace(",", _APART)


def moment(seconds: float | None) -> str:
    if seconds is None or not 0 <= seconds < 253402300800:
        return UNKNOWN
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"


def ago(seconds: float) -> str:
    passed = max(0, int(time.time() - seconds))
    for length, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if passed >= length:
            return f"{passed // length} {unit} ago"
    return f"{passed} s ago"
