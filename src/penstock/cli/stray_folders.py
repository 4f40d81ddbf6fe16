"""Partition folders that a node has set aside: finding them, putting them back, deleting them. The node is stopped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from penstock.cli.folder import ClusterFolder
from penstock.cli.node_settings import read_settings_file
from penstock.cli.talk import Misused, Refused
from penstock.core.base.settings import BrokerSettings
from penstock.core.log import epochs
from penstock.core.log.checkpoints import read_file, read_offsets, write_offsets
from penstock.core.log.names import CLEAN_MARK_FILE, LOG, LOG_STARTS_FILE, METADATA_DIR, PARTITION_FILE, parse_file
from penstock.core.log.partition_file import decode_topic_id
from penstock.core.log.stored_offsets import FILES
from penstock.core.log.strays import STRAY_FILE, Note, decode_note, parse_stray
from penstock.core.metadata.image import Image
from penstock.core.metadata.storage import uuid_text
from penstock.core.node.storage.lineage import LINEAGE_FILE
from penstock.shell.blocking import run_blocking
from penstock.shell.full_sync import sync_path
from penstock.shell.lock import FolderLock, FolderLocked


class Home(NamedTuple):
    """A node's data folder, and where it keeps the metadata."""

    node_id: int
    path: str
    metadata_path: str


class Stray(NamedTuple):
    """A folder that was set aside. What another broker's software has set aside has no note."""

    home: Home
    name: str
    topic: str
    partition: int
    topic_id: bytes | None
    size_bytes: int
    note: Note | None

    @property
    def path(self) -> str:
        return os.path.join(self.home.path, self.name)

    @property
    def partition_name(self) -> str:
        return f"{self.topic}-{self.partition}"


def homes(config: str | None, data_dir: str) -> list[Home]:
    """Of the node of a settings file, or of all nodes of a local cluster."""
    if config is not None:
        return [_home(config)]
    return [_home(node.settings_path) for node in ClusterFolder(data_dir).require() if node.text()]


def _home(settings_path: str) -> Home:
    settings = BrokerSettings(read_settings_file(settings_path))
    return Home(settings.node_id, settings.log_dir, settings.metadata_log_dir)


def find(home: Home) -> list[Stray]:
    try:
        names = sorted(os.listdir(home.path))
    except FileNotFoundError:
        return []
    return [_look_at(home, name, found) for name in names if (found := parse_stray(name)) is not None]


def _look_at(home: Home, name: str, found: tuple[str, int]) -> Stray:
    path = os.path.join(home.path, name)
    note = decode_note(run_blocking(read_file(os.path.join(path, STRAY_FILE))))
    owner = decode_topic_id(run_blocking(read_file(os.path.join(path, PARTITION_FILE))))
    size_bytes = sum(entry.stat().st_size for entry in os.scandir(path) if entry.name.endswith(LOG))
    topic, partition = found if note is None else (note.topic, note.partition)
    return Stray(home, name, topic, partition, owner, size_bytes, note)


@contextmanager
def held(homes: list[Home]) -> Iterator[None]:
    """Keep the nodes from starting meanwhile."""
    with ExitStack() as locks:
        for home in homes:
            if not os.path.isdir(home.path):
                continue
            try:
                locks.callback(FolderLock(home.path).release)
            except FolderLocked:
                raise Refused(f"node {home.node_id} runs in {home.path}", "stop it first, then try again") from None
        yield


def choose(strays: list[Stray], wanted: list[str], everything: bool) -> list[Stray]:
    """Those that a person named, by their folders or their partitions."""
    if everything:
        return strays
    if not wanted:
        raise Misused("name what is meant, by its folder or its partition", "or say --all")
    for name in wanted:
        if not any(name in (stray.name, stray.partition_name) for stray in strays):
            raise Refused(f"nothing by the name {name} is set aside", "look with `penstock storage stray list`")
    return [stray for stray in strays if {stray.name, stray.partition_name} & set(wanted)]


def purge(stray: Stray) -> None:
    shutil.rmtree(stray.path)
    sync_path(stray.home.path)


def restore(stray: Stray, image: Image) -> None:
    """Give a folder its name back. Other nodes may have gone on without it: where there are some, this one catches up
    before it counts."""
    _check_owner(stray, image)
    target = os.path.join(stray.home.path, stray.partition_name)
    is_in_the_way = os.path.exists(target)
    if is_in_the_way and not _is_empty(target, stray):
        raise Refused(
            f"{target} holds records",
            f"{stray.partition_name} has gone on without what was set aside; purge one of them",
        )
    if len(image.brokers) > 1:
        for name in (LINEAGE_FILE, CLEAN_MARK_FILE):
            _unlink(os.path.join(stray.home.path, name))
    _tell_start(stray)
    if is_in_the_way:
        shutil.rmtree(target)
    os.rename(stray.path, target)
    sync_path(stray.home.path)
    _unlink(os.path.join(target, STRAY_FILE))


def _check_owner(stray: Stray, image: Image) -> None:
    name, owner = stray.partition_name, stray.topic_id
    if owner is None:
        raise Refused(
            f"{stray.path} does not say to which topic it belongs", "its files can be read with kafka-dump-log"
        )
    topic = image.topic_by_id(owner)
    if topic is None:
        raise Refused(
            f"the metadata in {stray.home.metadata_path} knows no topic with the id of {name}, {uuid_text(owner)}",
            f"put the {METADATA_DIR} back that it belongs to (from a backup), then try again",
        )
    if stray.partition >= len(topic) or stray.home.node_id not in topic.replicas[stray.partition]:
        raise Refused(f"{name} is not placed on node {stray.home.node_id}", "move a replica there first, or purge it")
    latest, known = run_blocking(epochs.read(stray.path)).latest, topic.leader_epochs[stray.partition]
    if latest > known:
        raise Refused(
            f"the metadata in {stray.home.metadata_path} is older than {name}: leader epoch {known}, not {latest}",
            f"put a newer {METADATA_DIR} back, then try again",
        )


def _is_empty(folder: str, stray: Stray) -> bool:
    """Whether a folder is of the same topic, and never had a record."""
    if decode_topic_id(run_blocking(read_file(os.path.join(folder, PARTITION_FILE)))) != stray.topic_id:
        return False
    logs = [entry for entry in os.scandir(folder) if entry.name.endswith(LOG)]
    return not any(entry.stat().st_size or ((name := parse_file(entry.name)) and name.offset) for entry in logs)


def _tell_start(stray: Stray) -> None:
    """What the checkpoints say is of another log by that name; where this one begins, its note says."""
    key = (stray.topic, stray.partition)
    for name in FILES:
        path = os.path.join(stray.home.path, name)
        offsets = run_blocking(read_offsets(path))
        before = offsets.pop(key, None)
        if name == LOG_STARTS_FILE and stray.note is not None and stray.note.start_offset:
            offsets[key] = stray.note.start_offset
        if offsets.get(key) != before:
            run_blocking(write_offsets(path, offsets))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    sync_path(os.path.dirname(path))
