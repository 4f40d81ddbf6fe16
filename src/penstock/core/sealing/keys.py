"""Keys that seal files: each has a name and 256 bits; the last one seals what is new, the others open what is old.

No key seals anything by itself. Each file has its own, made of the named one and a salt that stands in the file.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode
from collections.abc import Iterable
from typing import Final, NamedTuple

from penstock.core.base.errors import PenstockError

SECRET_BYTES: Final = 32
ID_BYTES_MAX: Final = 20
_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,20}", re.ASCII)
_CONTEXT: Final = b"penstock sealed file 1\0"
_HOW: Final = "write one key in each line: a name of up to 20 letters and digits, a blank, and 32 bytes in base64"


class KeyFault(PenstockError):
    """One line for a person: which key is missing or wrong."""


class Key(NamedTuple):
    """A secret and the name under which files ask for it. It is never shown."""

    id: str
    secret: bytes

    def __repr__(self) -> str:
        return f"Key({self.id!r})"


class KeyRing:
    """The keys that are at hand."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self._by_id = {key.id: key for key in keys}
        self.newest = next(reversed(self._by_id.values()))

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._by_id)

    def find(self, key_id: str) -> Key | None:
        return self._by_id.get(key_id)

    def other_than(self, given: KeyRing) -> list[str]:
        """Names that stand for other keys in another ring: what one of them has sealed the other could not open."""
        return [key_id for key_id, key in self._by_id.items() if given._by_id.get(key_id, key) != key]

    def joined(self, newer: KeyRing) -> KeyRing:
        """With those of a newer ring. What was opened with a key that is no longer given must be readable as long as
        this process lives."""
        kept = [key for key in self._by_id.values() if key.id not in newer._by_id]
        return KeyRing([*kept, *newer._by_id.values()])


def read_keys(text: str, whence: str) -> KeyRing:
    """A ring out of lines, of which those that are empty or begin with # do not count."""
    keys: dict[str, Key] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        key = _read_key(words)
        if key is None:
            # Never the line itself: it may be a secret.
            raise KeyFault(f"line {number} of {whence} is no key; {_HOW}")
        if key.id in keys:
            raise KeyFault(f"line {number} of {whence} names the key {key.id} again; give each key a name of its own")
        keys[key.id] = key
    if not keys:
        raise KeyFault(f"there is no key in {whence}; {_HOW}")
    return KeyRing(keys.values())


def _read_key(words: list[str]) -> Key | None:
    if len(words) != 2 or not _ID.fullmatch(words[0]):
        return None
    try:
        secret = b64decode(words[1], validate=True)
    except ValueError:
        return None
    return Key(words[0], secret) if len(secret) == SECRET_BYTES else None


def file_secret(key: Key, salt: bytes) -> bytes:
    """The key of one file, so that no two files ever share a key and a nonce."""
    return hmac.digest(key.secret, _CONTEXT + salt, "sha256")
