"""The keys with which a command opens what a node has sealed: those that the node's settings name."""

import os
from typing import TYPE_CHECKING

from penstock.cli.folder import ClusterFolder
from penstock.cli.node_settings import read_settings_file
from penstock.cli.talk import Refused
from penstock.core.base.settings import BrokerSettings
from penstock.core.sealing.keys import KeyFault

if TYPE_CHECKING:
    from penstock.shell.sealed_paths import Sealing

Sealings = dict[str, "Sealing | None"]
"""By data folder; None where nothing is sealed."""


def sealings(config: str | None, data_dir: str) -> Sealings:
    """For the folders of a settings file, or of the nodes of `penstock up`; a key that is missing is refused."""
    if config is not None:
        settings = BrokerSettings(read_settings_file(config))
        return {folder: sealing_of(settings, folder) for folder in (settings.log_dir, settings.metadata_log_dir)}
    found: Sealings = {}
    for node in ClusterFolder(data_dir).require():
        has_settings = os.path.exists(node.settings_path)
        own = BrokerSettings(read_settings_file(node.settings_path)) if has_settings else None
        found[node.path] = sealing_of(own, node.path)
    return found


def sealing_of(settings: BrokerSettings | None, folder: str) -> "Sealing | None":
    """With keys that open all there is in a folder."""
    # Most folders need no keys, and then nothing of it is loaded.
    from penstock.shell.key_source import COMMAND, FILE, Keys, key_source
    from penstock.shell.sealed_folder import refuse_missing
    from penstock.shell.sealed_mark import is_marked

    try:
        source = None if settings is None else key_source(settings)
        if source is None:
            if is_marked(folder):
                refuse_missing(folder, None, f"{FILE} or {COMMAND} in the node's settings")
            return None
        keys = Keys(source)
        refuse_missing(folder, keys.ring, source.setting)
    except KeyFault as fault:
        raise Refused(str(fault)) from None
    return keys
