"""Which class a name in a settings file belongs to, also names that stand for others or for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from penstock.core.base.settings.key import Key, Standing
from penstock.core.base.settings.per_listener import PER_LISTENER, PER_MECHANISM
from penstock.core.base.settings.registry import BROKER_KEYS, TOPIC_KEYS
from penstock.core.base.settings.standings import retired

_LISTENER_OVERRIDE: Final = r"listener\.name\.[^.A-Z]*\.(.+)"
# What is behind these prefixes is handed on to a Java class; the setting that names the class decides.
_HANDED_ON: Final = {
    "config.providers.": "config.providers",
    "rsm.config.": "remote.log.storage.manager.class.name",
    "rlmm.config.": "remote.log.metadata.manager.class.name",
}


class Classed(NamedTuple):
    standing: Standing
    why: str
    # The declaration that says how to read the value, where there is one.
    key: Key | None = None


def classify(name: str) -> Classed:
    """The standing of any name, with the reason or, for an unknown name, a hint."""
    if key := BROKER_KEYS.get(name):
        return Classed(key.standing, key.why, key)
    if match := re.fullmatch(_LISTENER_OVERRIDE, name):
        return _listener_override(match[1])
    for prefix, behind in _HANDED_ON.items():
        if name.startswith(prefix):
            return Classed(BROKER_KEYS[behind].standing, BROKER_KEYS[behind].why)
    if name in retired.NAMES or name.startswith(retired.PREFIXES):
        return Classed(Standing.NO_MEANING, retired.WHY)
    return Classed(Standing.UNKNOWN, _hint(name))


def _listener_override(rest: str) -> Classed:
    """A setting for one listener: `rest` is a broker setting, perhaps behind the name of a SASL mechanism."""
    key = BROKER_KEYS.get(rest) or BROKER_KEYS.get(rest.partition(".")[2])
    if key is None:
        return Classed(Standing.UNKNOWN, _hint(rest))
    if key.name in (PER_MECHANISM if key.name != rest else PER_LISTENER):
        return Classed(Standing.ACTS, "", key)
    if key.standing is Standing.REFUSED:
        return Classed(Standing.REFUSED, key.why, key)
    return Classed(Standing.NO_MEANING, f"all listeners share {key.name}", key)


def _hint(name: str) -> str:
    if topic_key := TOPIC_KEYS.get(name):
        return _topic_hint(topic_key)
    near = nearest(name, BROKER_KEYS)
    return f"did you mean {near}?" if near else "no setting has a name like it"


def _topic_hint(key: Key) -> str:
    if not key.synonyms:
        return "it is set per topic only"
    return f"it is a topic setting; the default of all topics is {key.synonyms[0].name}"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name that looks most like `name`, if any does."""
    # Only a mistyped name needs this module, and it is slow to load.
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(names), n=1, cutoff=0.6)), None)
