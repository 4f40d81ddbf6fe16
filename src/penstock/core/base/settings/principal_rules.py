"""`ssl.principal.mapping.rules`: how the name in a certificate becomes a principal's. The first rule that fits decides.

RULE:^CN=(.*?),OU=.*$/$1/L,DEFAULT
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from penstock.core.base.settings.key import SettingError

_RULE: Final = r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:[,\n]|$)"


class PrincipalRule(NamedTuple):
    """Without a pattern every name is taken as it is."""

    pattern: str | None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        match = re.fullmatch(self.pattern, name)
        if match is None:
            return None
        found = re.sub(r"\$(\d)", lambda group: match[int(group[1])] or "", self.replacement)
        return found.lower() if self.case == "L" else found.upper() if self.case == "U" else found


def read_principal_rules(text: str) -> tuple[PrincipalRule, ...]:
    """The rules of a text, or a SettingError."""
    rules, position = [], 0
    while position < len(text.rstrip()):
        match = re.compile(_RULE).match(text, position)
        if match is None:
            raise SettingError(f"Invalid rule: `{text[position:]}`")
        default, pattern, replacement, case = match.groups()
        rules.append(PrincipalRule(None) if default else _checked(pattern, replacement, case))
        position = match.end()
    return tuple(rules) or (PrincipalRule(None),)


def mapped(rules: tuple[PrincipalRule, ...], name: str) -> str | None:
    """The principal's name; None if no rule fits."""
    return next((found for rule in rules if (found := rule.apply(name)) is not None), None)


def _checked(pattern: str, replacement: str, case: str) -> PrincipalRule:
    pattern, replacement = pattern.replace("\\/", "/"), replacement.replace("\\/", "/")
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise SettingError(f"the pattern `{pattern}` is none: {error}") from None
    missing = [number for number in re.findall(r"\$(\d)", replacement) if int(number) > groups]
    if missing:
        raise SettingError(f"the pattern `{pattern}` has no group {missing[0]}")
    return PrincipalRule(pattern, replacement, case)
