"""Looks at raw settings as a whole: typed values, and one finding for each name that deserves a word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from penstock.core.base.settings.classify import Classed, classify
from penstock.core.base.settings.key import REQUIRED, Key, SettingError, Standing
from penstock.core.base.settings.registry import BROKER_KEYS
from penstock.core.base.settings.rules import SoundValues, broken_rules
from penstock.core.base.settings.values import parse_value


class Finding(NamedTuple):
    name: str
    standing: Standing
    message: str
    # A node with a fatal finding does not start.
    is_fatal: bool = False


_DEFAULTS: Final = {name: key.default for name, key in BROKER_KEYS.items()}
_REQUIRED: Final = tuple(name for name, default in _DEFAULTS.items() if default is REQUIRED)


def examine(raw: Mapping[str, str]) -> tuple[dict[str, Any], list[Finding]]:
    """The typed value of every broker setting, and what there is to say about the given ones."""
    values = dict(_DEFAULTS)
    findings = [_examine_one(name, text, values) for name, text in raw.items()]
    unsound = {finding.name for finding in findings if finding.is_fatal}
    if "node.id" not in raw and "broker.id" in raw:
        values["node.id"] = values["broker.id"]
    elif "broker.id" not in raw:
        values["broker.id"] = values["node.id"]
    incomplete = [name for name in _REQUIRED if values[name] is REQUIRED]
    findings += [Finding(name, Standing.ACTS, _missing(name), True) for name in incomplete if name not in raw]
    sound = SoundValues(values, {*unsound, *incomplete})
    findings += [Finding(name, Standing.REFUSED, message, True) for name, message in broken_rules(sound, raw)]
    return values, findings


def _missing(name: str) -> str:
    return f'Missing required configuration "{name}" which has no default value.'


def _examine_one(name: str, text: str, values: dict[str, Any]) -> Finding:
    classed = classify(name)
    if classed.key is None:
        return _finding(name, classed, default=False)
    try:
        value = parse_value(classed.key, text)
    except SettingError as error:
        return Finding(name, classed.standing, str(error), True)
    if name == classed.key.name or classed.standing is Standing.ACTS:
        values[name] = value
    return _finding(name, classed, is_default(classed.key, value))


def is_default(key: Key, value: Any) -> bool:
    """An empty value is as good as none where there is no default."""
    return bool(value == key.default or (key.default is None and not value and not isinstance(value, (int, float))))


def _finding(name: str, classed: Classed, default: bool) -> Finding:
    """A refused setting is harmless at its default."""
    if classed.standing is not Standing.REFUSED:
        return Finding(name, classed.standing, classed.why)
    return Finding(name, classed.standing, "" if default else f"{name} is refused: {classed.why}", not default)
