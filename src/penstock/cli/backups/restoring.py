"""Data folders for a new cluster, of any size, out of a backup. Nothing runs meanwhile: a log is restored with its
offsets, and no request can write those."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from penstock.cli import node_settings
from penstock.cli.backups import image_parts, offsets
from penstock.cli.backups.logs import Key, LogPlan, NodeLogs, Piece
from penstock.cli.backups.manifest import Chunk, Manifest, PartitionBackup
from penstock.cli.backups.store import Store
from penstock.cli.backups.verifying import read_file, verify
from penstock.cli.backups.whole_folder import whole_folder
from penstock.cli.folder import ClusterFolder
from penstock.cli.formatting import new_id
from penstock.cli.importing.writing import write_metadata, write_owner
from penstock.cli.plain import PORT
from penstock.cli.sealed_folders import sealing_of
from penstock.cli.talk import Misused, Refused, say
from penstock.client.metadata_log import Metadata
from penstock.core.base.settings import BrokerSettings, TopicSettings
from penstock.core.log.names import parse_folder
from penstock.core.metadata.foreign import Home, adopt
from penstock.core.metadata.image import TOPIC_RESOURCE, Image
from penstock.core.metadata.storage import META_VERSION, Meta, uuid_bytes
from penstock.core.node.quorum.identity import founding_voters, is_founder, is_only_voter
from penstock.core.raft.ids import LogEnd
from penstock.shell.blocking import run_with_disk
from penstock.shell.sealed_mark import mark


class Site(NamedTuple):
    """A node to be: its settings, and the folder in which its data is written."""

    settings: BrokerSettings
    meta: Meta
    folder: str


class Wish(NamedTuple):
    """What a person asked for."""

    data_dir: str | None
    nodes: int | None
    config: str | None


def restore(store: Store, manifest: Manifest, wish: Wish) -> str:
    """Gives the folder. Every file is verified before anything is written, and again when it is read."""
    path, make_sites = _target(wish)
    verify(store, manifest)
    with whole_folder(path) as work:
        _refuse_too_much(work, manifest.size_bytes * (wish.nodes or 1))
        _write(store, manifest, make_sites(work))
    return path


def _target(wish: Wish) -> tuple[str, Callable[[str], Sequence[Site]]]:
    cluster_id = new_id()
    if (wish.config is None) == (wish.data_dir is None):
        raise Misused("where should it go?", "either --data-dir DIR for `penstock up`, or --config FILE of a node")
    if wish.config is not None:
        settings = _lone_settings(wish)
        return settings.log_dir, lambda work: [_site(settings, cluster_id, work)]
    assert wish.data_dir is not None
    count = 1 if wish.nodes is None else wish.nodes
    if count < 1:
        raise Misused(f"--nodes {count}: a cluster has at least one node", "choose 1 or more, for example --nodes 3")
    ports = [node_settings.Ports(each, PORT, PORT + node_settings.METRICS_PORT_OFFSET) for each in range(1, count + 1)]

    def sites(work: str) -> Sequence[Site]:
        folders = [(each.number, os.path.join(work, f"node-{each.number}")) for each in ports]
        texts = [(node_settings.own_settings(ports, number, folder), folder) for number, folder in folders]
        return [_site(BrokerSettings(text), cluster_id, folder) for text, folder in texts]

    return ClusterFolder(wish.data_dir).path, sites


def _lone_settings(wish: Wish) -> BrokerSettings:
    """Those of a node that is all of its cluster at first; others join it."""
    if wish.nodes is not None:
        raise Misused("--nodes is for --data-dir", "a node of a settings file is restored alone; let others join it")
    settings = BrokerSettings(node_settings.read_settings_file(wish.config or ""))
    if not settings.is_broker or not (is_only_voter(settings) or is_founder(settings)):
        raise Refused(
            "the settings are not those of a node that is all of its cluster",
            "restore with process.roles=broker,controller and no other voters, and let others join then",
        )
    if settings.metadata_log_dir != settings.log_dir:
        raise Refused("the settings have a metadata.log.dir of its own", "restore into one folder")
    return settings


def _site(settings: BrokerSettings, cluster_id: str, folder: str) -> Site:
    return Site(settings, Meta(META_VERSION, cluster_id, settings.node_id, new_id()), folder)


def _refuse_too_much(folder: str, size_bytes: int) -> None:
    free_bytes = shutil.disk_usage(folder).free
    if size_bytes > free_bytes:
        raise Refused(f"up to {size_bytes} bytes are to be written, and there is room for {free_bytes}", "make room")


def _write(store: Store, manifest: Manifest, sites: Sequence[Site]) -> None:
    now_ms = time.time_ns() // 1_000_000
    end = LogEnd(manifest.metadata_epoch, manifest.metadata_offset)
    theirs = image_parts.decode(read_file(store, manifest.metadata), end)
    image = _adopted(theirs, manifest, sites)
    commits = offsets.decode(read_file(store, manifest.offsets))
    plans = _plans(store, manifest, image) | _offset_plans(commits, theirs.image, image, now_ms)
    for site in sites:
        _write_node(site, Metadata(image, end), plans, now_ms)
    _tell(image, sites[0].settings)


def _adopted(theirs: Metadata, manifest: Manifest, sites: Sequence[Site]) -> Image:
    first, *others = sites
    home = Home(
        first.meta.node_id,
        uuid_bytes(first.meta.directory_id),
        first.settings,
        {site.meta.node_id: uuid_bytes(site.meta.directory_id) for site in others},
        {(each.topic, each.partition): each.epoch for each in manifest.partitions},
    )
    adopted = adopt(theirs.image, home)
    for line in adopted.remarks:
        say(line)
    return adopted.image


def _plans(store: Store, manifest: Manifest, image: Image) -> dict[Key, LogPlan]:
    found: dict[Key, LogPlan] = {}
    for each in manifest.partitions:
        topic = image.topic(each.topic)
        if topic is None or parse_folder(str(each)) != (each.topic, each.partition) or each.partition >= len(topic):
            raise Refused(f"{each} is in the backup, and its metadata does not know it", "take another backup")
        pieces = [_piece(store, each, chunk) for chunk in each.chunks]
        found[each.topic, each.partition] = LogPlan(topic.id, each.start, each.end, pieces)
    return found


def _piece(store: Store, partition: PartitionBackup, chunk: Chunk) -> Piece:
    return Piece(chunk.first, chunk.end, lambda: read_file(store, chunk.file))


def _offset_plans(commits: offsets.Commits, theirs: Image, image: Image, now_ms: int) -> dict[Key, LogPlan]:
    topic = image.topic(offsets.OFFSETS_TOPIC)
    found: dict[Key, LogPlan] = {}
    for index, (data, end) in offsets.batches(commits, theirs, now_ms).items():
        assert topic is not None, "what was theirs is here"
        pieces = [Piece(0, end, partial(bytes, data))]
        found[offsets.OFFSETS_TOPIC, index] = LogPlan(topic.id, 0, end, pieces)
    return found


def _write_node(site: Site, metadata: Metadata, plans: Mapping[Key, LogPlan], now_ms: int) -> None:
    """The files of one node; who owns the folder is said last."""
    os.makedirs(site.folder, exist_ok=True)
    image, node_id = metadata.image, site.meta.node_id
    sealing = sealing_of(site.settings, site.settings.log_dir)
    if sealing is not None:
        mark(site.folder)
    own = {}
    for (name, index), plan in plans.items():
        topic = image.topic(name)
        if topic is not None and node_id in topic.partition(index).replicas:
            own[name, index] = plan
    run_with_disk(NodeLogs(site.folder, image, site.settings, own, now_ms).write, sealing)
    voters = founding_voters(site.settings, uuid_bytes(site.meta.directory_id), None)
    write_metadata(site.folder, image, metadata.end, voters if is_founder(site.settings) else None, sealing)
    write_owner(site.folder, site.meta)


def _tell(image: Image, settings: BrokerSettings) -> None:
    """What was meant for more nodes."""
    for name, topic in sorted(image.topics.items()):
        least = TopicSettings(settings, image.config(TOPIC_RESOURCE, name)).min_insync_replicas
        if least > len(topic.partition(0).replicas):
            say(
                f"topic {name} has {len(topic.partition(0).replicas)} replica(s) now and min.insync.replicas={least}: "
                "acks=all is refused until it has more, or the setting is lowered"
            )
