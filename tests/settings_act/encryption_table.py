"""For each setting about keys of what is kept: what is seen under its default and another value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.settings_act import encryption_checks as encryption
from tests.settings_act.trial import Flip

OF_ENCRYPTION: Final[Mapping[str, Flip]] = {
    "penstock.encryption.keys.file": Flip(encryption.is_sealed, ("", False), (encryption.keys_file(), True)),
    "penstock.encryption.keys.command": Flip(encryption.is_sealed, ("", False), (encryption.command(), True)),
    "penstock.encryption.keys.refresh.ms": Flip(encryption.sees_a_newer_key_soon, ("60000", False), ("100", True)),
}
