"""The whole of an import: look, decide, say, and then do."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import ExitStack
from typing import NamedTuple

from penstock.cli import node_settings
from penstock.cli.folder import ClusterFolder
from penstock.cli.formatting import new_id
from penstock.cli.importing.plan import Copy, choose_copies
from penstock.cli.importing.source import KafkaFolder, newest_metadata
from penstock.cli.importing.writing import Target, write_metadata, write_owner, write_partitions
from penstock.cli.output import Output, bytes_text, print_rows
from penstock.cli.plain import PORT
from penstock.cli.sealed_folders import sealing_of
from penstock.cli.talk import Refused, say
from penstock.core.base.ports import FileFailure
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.foreign import Home, adopt
from penstock.core.metadata.storage import META_VERSION, Meta, uuid_bytes
from penstock.core.node.quorum.identity import founding_voters, is_founder, is_only_voter
from penstock.core.raft.voters import VoterSet
from penstock.shell.sealed_mark import mark


class Wish(NamedTuple):
    """What a person asked for."""

    config: str | None
    data_dir: str | None
    link: bool
    dry_run: bool
    output: Output


def run(kafka_log_dirs: list[str], wish: Wish) -> None:
    settings = _settings(wish)
    target = Target(settings.log_dir)
    with ExitStack() as held:
        folders = []
        for path in dict.fromkeys(map(os.path.abspath, kafka_log_dirs)):
            folders.append(KafkaFolder(path))
            held.callback(folders[-1].release)
        _refuse_several_clusters(folders)
        try:
            copied_bytes = _import(folders, settings, target, wish)
        except FileFailure as failure:
            raise Refused(f"the import has failed, and left nothing: {failure}") from None
    if wish.dry_run:
        say(f"nothing was done: {bytes_text(copied_bytes)} would be copied to {target.path}")
        return
    say(f"{bytes_text(copied_bytes)} copied to {target.path}")
    say(
        f"start it with: penstock {f'node --config {wish.config}' if wish.config else f'up --data-dir {wish.data_dir}'}"
    )


def _import(folders: list[KafkaFolder], settings: BrokerSettings, target: Target, wish: Wish) -> int:
    """Gives the bytes that were copied, or would be."""
    theirs = newest_metadata(folders)
    meta = Meta(META_VERSION, folders[0].cluster_id, settings.node_id, new_id())
    ours = adopt(theirs.image, Home(settings.node_id, uuid_bytes(meta.directory_id), settings))
    copies = choose_copies(theirs.image, sorted(ours.image.topics), folders)
    copied = [file for copy in copies for file in copy.files if not (wish.link and file.is_final)]
    copied_bytes = sum(file.size_bytes for file in copied)
    sealing = sealing_of(settings, settings.log_dir)
    if wish.link and sealing is not None:
        raise Refused("what is shared with Kafka stays as it is, and is not encrypted", "leave --link out")
    if wish.link:
        target.refuse_links_to({copy.path for copy in copies})
    target.refuse_too_much(copied_bytes)
    _show(copies, ours.remarks, wish.output)
    if not wish.dry_run:
        with target.written() as work:
            if sealing is not None:
                mark(work)
            write_partitions(work, copies, wish.link, sealing)
            write_metadata(work, ours.image, theirs.end, _voters(settings, meta), sealing)
            write_owner(work, meta)
    return copied_bytes


def _settings(wish: Wish) -> BrokerSettings:
    """Those of the node that will own the folder."""
    config, data_dir = wish.config, wish.data_dir
    if (config is None) == (data_dir is None):
        raise Refused("where should it go?", "either --config FILE of a node, or --data-dir DIR for `penstock up`")
    if data_dir is not None:
        folder = ClusterFolder(data_dir)
        if folder.nodes():
            raise Refused(f"there is a cluster in {data_dir}", "import into a new folder")
        folder.refuse_strangers()
        ports = [node_settings.Ports(1, PORT, PORT + node_settings.METRICS_PORT_OFFSET)]
        return BrokerSettings(node_settings.own_settings(ports, 1, folder.node(1).path))
    assert config is not None
    settings = BrokerSettings(node_settings.read_settings_file(config))
    if not settings.is_broker or not (is_only_voter(settings) or is_founder(settings)):
        raise Refused(
            "the settings are not those of a node that is all of its cluster; what is imported belongs to one at first",
            "import with process.roles=broker,controller and no other voters, and let others join then",
        )
    if settings.metadata_log_dir != settings.log_dir:
        raise Refused("the settings have a metadata.log.dir of its own", "import into one folder")
    return settings


def _voters(settings: BrokerSettings, meta: Meta) -> VoterSet | None:
    """Who votes, if that is kept in the metadata and not in the settings."""
    return founding_voters(settings, uuid_bytes(meta.directory_id), None) if is_founder(settings) else None


def _refuse_several_clusters(folders: list[KafkaFolder]) -> None:
    ids = {folder.cluster_id for folder in folders}
    if len(ids) > 1:
        raise Refused(f"the log dirs belong to several clusters: {', '.join(sorted(ids))}", "name those of one")


def _show(copies: list[Copy], remarks: list[str], output: Output) -> None:
    topics: dict[str, list[Copy]] = defaultdict(list)
    for copy in copies:
        topics[copy.key[0]].append(copy)
    rows = [
        (name, len(each), sum(copy.size_bytes for copy in each), ", ".join(sorted({copy.source.path for copy in each})))
        for name, each in topics.items()
    ]
    print_rows(output, ("topic", "partitions", "bytes", "from"), rows)
    for line in remarks:
        say(line)
    for path in sorted({copy.source.path for copy in copies if not copy.source.is_clean}):
        say(f"{path} was not stopped cleanly: the first start looks through its newest segments, and cuts what is torn")
