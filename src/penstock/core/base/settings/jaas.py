"""JAAS configurations, as far as Kafka's settings have them: one login module, a flag, and its options.

org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.core.base.settings.key import SettingError

_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_TOKEN: Final = r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|([;=])|([^\s;="\']+)'
_USER: Final = "user_"


class LoginModule(NamedTuple):
    """The module's class, which says which mechanism is meant, and what it is told."""

    name: str
    options: Mapping[str, str]

    @property
    def users(self) -> dict[str, str]:
        """The passwords of the users that PLAIN knows."""
        return {name.removeprefix(_USER): value for name, value in self.options.items() if name.startswith(_USER)}

    @property
    def login(self) -> tuple[str, str] | None:
        """Whom to log in as."""
        user, password = self.options.get("username"), self.options.get("password")
        return None if user is None or password is None else (user, password)


def read_jaas(text: str) -> LoginModule:
    """The one module of a text. What is wrong with it is told without a word of it, since it holds passwords."""
    tokens = _tokens(text)
    if len(tokens) < 3 or tokens[-1] != ";" or tokens.count(";") != 1:
        raise SettingError('it is MODULE required NAME="VALUE" ...; with a semicolon at its end')
    name, flag, *rest = tokens[:-1]
    if flag.lower() not in _FLAGS:
        raise SettingError(f"behind the module stands one of {', '.join(_FLAGS)}")
    if len(rest) % 3 or any(sign != "=" for sign in rest[1::3]):
        raise SettingError('each option is NAME="VALUE"')
    return LoginModule(name, dict(zip(rest[::3], rest[2::3], strict=True)))


def _tokens(text: str) -> list[str]:
    tokens, position = [], 0
    text = text.strip()
    while position < len(text):
        match = re.compile(_TOKEN).match(text, position)
        if match is None:
            raise SettingError("a quotation mark is not closed")
        double, single, sign, word = match.groups()
        quoted = double if double is not None else single
        tokens.append(sign or word or re.sub(r"\\(.)", r"\1", quoted or ""))
        position = match.end()
        position += len(text[position:]) - len(text[position:].lstrip())
    return tokens
