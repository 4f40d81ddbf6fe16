"""What a node's settings say of encryption: which disk it gets, and whether it may start with the keys it has.

Without keys nothing of it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.core.base.settings import BrokerSettings
from penstock.shell.disk import Disk, Reader
from penstock.shell.sealed_mark import is_marked

if TYPE_CHECKING:
    from penstock.shell.key_source import Keys, Refreshing

Tell = Callable[[str, str], None]
"""A level and a sentence."""


class Encryption:
    """Of one node, while it runs."""

    def __init__(self, settings: BrokerSettings) -> None:
        """Raises a KeyFault where a key is missing."""
        self._refresh_ms: int = settings["penstock.encryption.keys.refresh.ms"]
        self._keys = _keys(settings)
        self._refreshing: Refreshing | None = None

    def disk(self, turn: Callable[[Callable[[], None]], None], open_files_max: int) -> Disk:
        if self._keys is None:
            return Disk(turn, open_files_max, Reader())
        from penstock.shell.sealed_disk import SealedDisk

        return SealedDisk(turn, open_files_max, Reader(), self._keys)

    def begin(self, tell: Tell) -> None:
        """Look for newer keys from now on."""
        if self._keys is None:
            return
        from penstock.shell.key_source import Refreshing

        if self._keys.is_open:
            tell("warning", "others than its owner may read the file of keys: chmod 600 it")
        tell("info", f"new files are encrypted under the key {self._keys.ring.newest.id}")
        self._refreshing = Refreshing(self._keys, self._refresh_ms, tell)

    def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.close()


def _keys(settings: BrokerSettings) -> Keys | None:
    folders = dict.fromkeys((settings.log_dir, settings.metadata_log_dir))
    names = "penstock.encryption.keys.file", "penstock.encryption.keys.command"
    if not any(settings[name] for name in names) and not any(map(is_marked, folders)):
        return None
    from penstock.shell.key_source import Keys, key_source
    from penstock.shell.sealed_folder import require_keys

    source = key_source(settings)
    keys = None if source is None else Keys(source)
    require_keys(folders, None if keys is None else keys.ring, " or ".join(names) if source is None else source.setting)
    return keys
