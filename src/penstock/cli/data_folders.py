"""Which data folders a command is about that works on stopped nodes: those of a settings file, or of `penstock up`."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from penstock.cli.folder import ClusterFolder
from penstock.cli.node_settings import read_settings_file
from penstock.cli.talk import Refused
from penstock.core.base.settings import BrokerSettings
from penstock.core.log.names import METADATA_DIR, parse_folder
from penstock.shell.lock import FolderLock, FolderLocked

_PARTITION = re.compile(r"(.+)-([0-9]+)")


def data_folders(config: str | None, data_dir: str) -> list[str]:
    if config is not None:
        return [BrokerSettings(read_settings_file(config)).log_dir]
    return [node.path for node in ClusterFolder(data_dir).require()]


def metadata_folders(config: str | None, data_dir: str) -> list[str]:
    """Where the same nodes keep their metadata."""
    if config is not None:
        return [BrokerSettings(read_settings_file(config)).metadata_log_dir]
    return data_folders(config, data_dir)


@contextmanager
def held(folders: Sequence[str]) -> Iterator[None]:
    """Nobody else works on these folders meanwhile."""
    with ExitStack() as locks:
        for folder in folders:
            if not os.path.isdir(folder):
                raise Refused(f"there is no data folder {folder}", "name a node's settings with --config")
            try:
                locks.callback(FolderLock(folder).release)
            except FolderLocked:
                raise Refused(
                    f"a node runs on {folder}, and what it writes cannot be told from damage",
                    "stop it first; while it runs it looks at its closed segments itself, and says so in /health/ready",
                ) from None
        yield


def partitions_in(folder: str, names: Sequence[str] | None) -> list[tuple[str, int]]:
    """The partitions of a folder, or those that were asked for, as far as they are there."""
    found = [key for name in sorted(os.listdir(folder)) if (key := parse_folder(name)) and name != METADATA_DIR]
    found = [key for key in found if os.path.isdir(f"{folder}/{key[0]}-{key[1]}")]
    return found if not names else [key for key in found if f"{key[0]}-{key[1]}" in names]


def metadata_in(folder: str, names: Sequence[str] | None) -> list[tuple[str, int]]:
    """The log of the metadata, where it is in this folder and was asked for as partitions are."""
    is_there = os.path.isdir(f"{folder}/{METADATA_DIR}") and (not names or METADATA_DIR in names)
    found = parse_folder(METADATA_DIR) if is_there else None
    return [] if found is None else [found]


def refuse_unknown(names: Sequence[str], folders: Sequence[str]) -> None:
    for name in names:
        if not _PARTITION.fullmatch(name) or not any(os.path.isdir(f"{folder}/{name}") for folder in folders):
            raise Refused(f"there is no partition {name} in {', '.join(folders)}", "write TOPIC-PARTITION: orders-0")
