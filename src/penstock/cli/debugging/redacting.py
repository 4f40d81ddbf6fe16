"""No secret leaves with a bundle. Two things see to that, and each is enough for most of it.

Settings are shown by what is known of them: the value of one that nobody knows, or that is sensitive, is hidden. And
every text passes the `Redactor` last: it hides the very values that were found in settings files, wherever they stand,
and whatever has the form of a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from penstock.client.security import SECRETS
from penstock.core.base.settings.classify import classify
from penstock.core.base.settings.key import SettingError
from penstock.core.base.settings.properties import parse_properties

HIDDEN: Final = "[hidden]"
SECRET_CHARS_MIN: Final = 4
"""Shorter ones would hide half of all words, and keep nobody out."""

_WORDS: Final = r"pass(?:word|wd|phrase)?|pwd|secrets?|tokens?|credentials?|jaas[._-]config|private[._-]key|api[._-]?key|access[._-]?key|authorization|cookie|salt|stored[._-]?key|server[._-]?key|hmac|ssl[._-]keystore[._-](?:key|certificate[._-]chain)|ssl[._-]key"  # noqa: E501  # One pattern.
_NAMED: Final = re.compile(f"(?i){_WORDS}")
_PAIR: Final = re.compile(
    rf"(?i)([\"']?(?:[\w.-]*[._-])?(?:{_WORDS})(?:[._-](?:key|value|secret|password))?[\"']?\s*[=:]\s*)"
    r"(\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:(?:Bearer|Basic|Digest)\s+)?[^\s,;}\])]+)"
)
"""`name=value`, `"name": "value"`, `name: value`."""
_OPTION: Final = re.compile(rf"(?i)(--[\w-]*(?:{_WORDS})[\w-]*[ =])(\S+)")
_BEARER: Final = re.compile(r"(?i)\b((?:Bearer|Basic|Digest)\s+)[A-Za-z0-9+/=._~-]{6,}")
_WEB_TOKEN: Final = re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?")
_USER_INFO: Final = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@]+@")
_PEM: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?(?:-----END \1-----|\Z)", re.DOTALL)
_CLOUD_KEY: Final = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")
_JAAS_OPTION: Final = re.compile(r"([\w.]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;\"]+))")
_NO_SECRETS: Final = frozenset({"username", "serviceName", "principal", "debug", "tokenauth", "useKeyTab", "keyTab"})
"""Options of JAAS that say who somebody is."""
_NOTHING: Final = frozenset({"null", "None", "true", "false", '""', "''"})
_ORDINARY: Final = re.compile(r"[a-z]*|[\d.]*|[A-Z][A-Z0-9_-]*|[A-Za-z_]\w*(?:\.\w+)+|/.*")
"""Words, numbers, constants, classes and paths: hidden in a setting that nobody knows, and not looked for elsewhere."""


class Redactor:
    """Knows the secrets of this place, and the forms of others."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def learn(self, value: str) -> None:
        """A value that is secret wherever it stands, also one of those in a setting of JAAS."""
        options = _JAAS_OPTION.findall(value) if "LoginModule" in value else ()
        parts = [quoted or plain for name, quoted, plain in options if name not in _NO_SECRETS]
        self._known |= {each.strip() for each in (value, *parts) if len(each.strip()) >= SECRET_CHARS_MIN}

    def settings(self, text: str) -> str:
        """A file of settings with the values of those that are known not to be secret."""
        try:
            given = parse_properties(text)
        except SettingError:
            return "cannot be read as settings, and is left out\n"
        lines = []
        for name, value in given.items():
            is_open = is_harmless(name)
            if not is_open and (is_sensitive(name) or not _ORDINARY.fullmatch(value)):
                self.learn(value)
            lines.append(f"{name}={value if is_open or not value else HIDDEN}")
        return "\n".join([*lines, ""])

    def client(self, settings: Mapping[str, str]) -> None:
        """How a client gets in is no business of others."""
        for name, value in settings.items():
            if name in SECRETS:
                self.learn(value)

    def __call__(self, text: str) -> str:
        # The longest first: one may be the beginning of another.
        for secret in sorted(self._known, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        text = _PEM.sub(HIDDEN, text)
        text = _BEARER.sub(rf"\1{HIDDEN}", text)
        text = _PAIR.sub(_hide_pair, text)
        text = _OPTION.sub(rf"\1{HIDDEN}", text)
        text = _USER_INFO.sub(rf"\1{HIDDEN}@", text)
        return _CLOUD_KEY.sub(HIDDEN, _WEB_TOKEN.sub(HIDDEN, text))


def is_sensitive(name: str) -> bool:
    """Whether it is known to be a secret, or is called like one."""
    key = classify(name).key
    return key.is_sensitive if key is not None else _NAMED.search(name) is not None


def is_harmless(name: str) -> bool:
    """Whether a setting is known, and no secret."""
    key = classify(name).key
    return key is not None and not key.is_sensitive


def _hide_pair(match: re.Match[str]) -> str:
    value = match[2]
    if value in _NOTHING or value.lstrip("\"'").startswith(HIDDEN[:-1]):
        return match[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{match[1]}{quote}{HIDDEN}{quote}"
