"""`penstock config check FILE`: the class of every setting in a file, and what there is to say about it."""

from __future__ import annotations

from typing import NamedTuple

from penstock.core.base.settings.classify import classify
from penstock.core.base.settings.examine import Finding, examine
from penstock.core.base.settings.key import Standing
from penstock.core.base.settings.properties import parse_properties


class Checked(NamedTuple):
    name: str
    value: str
    standing: Standing
    message: str
    # A node with such a setting does not start.
    is_fatal: bool = False


def check_file(text: str) -> list[Checked]:
    """One line per setting of the file, in its order, and one for each that is missing."""
    given = parse_properties(text)
    _, findings = examine(given)
    by_name: dict[str, list[Finding]] = {}
    for finding in findings:
        by_name.setdefault(finding.name, []).append(finding)
    return [_line(name, given.get(name, ""), said) for name, said in by_name.items()]


def _line(name: str, value: str, said: list[Finding]) -> Checked:
    """What the setting's class is, unless a rule between settings has refused its value."""
    message = "; ".join(finding.message for finding in said if finding.message)
    return Checked(name, _shown(name, value), said[-1].standing, message, any(finding.is_fatal for finding in said))


def _shown(name: str, value: str) -> str:
    key = classify(name).key
    return "[hidden]" if key is not None and key.is_sensitive and value else value
