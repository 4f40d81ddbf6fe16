"""From a folder to a serving node, and back: what happens in which order when a node starts and stops."""

from __future__ import annotations

import errno
from dataclasses import replace as replace_fields
from functools import partial

from penstock.core.base.errors import ErrorCode, PenstockError
from penstock.core.base.ports import Entry, FileFailure, ListDir, MakeDir, Steps
from penstock.core.log.census import ProducerCensus
from penstock.core.log.checkpoints import read_file, replace
from penstock.core.log.directory import LogDirectory
from penstock.core.log.durable import sync_folder
from penstock.core.log.index_file import IndexCache
from penstock.core.log.names import METADATA_DIR
from penstock.core.log.settings import LogContext
from penstock.core.metadata.features import METADATA_LEVEL, METADATA_VERSION
from penstock.core.metadata.storage import (
    META_FILE,
    META_VERSION,
    Meta,
    StorageError,
    decode_meta,
    encode_meta,
    uuid_bytes,
    uuid_text,
)
from penstock.core.node.links.purposes import ASSIGN
from penstock.core.node.membership.broker_lifecycle import NO_EPOCH
from penstock.core.node.membership.cluster import Cluster
from penstock.core.node.node import Node
from penstock.core.node.quorum.bootstrap import read_bootstrap
from penstock.core.node.quorum.identity import founding_voters, is_founder, is_only_voter
from penstock.core.node.quorum.opening import found_quorum, is_only_founded, open_quorum
from penstock.core.node.schemas.knowledge import SchemaKnowledge
from penstock.core.node.storage.disk_trouble import DiskTrouble
from penstock.core.node.storage.lineage import Lineage
from penstock.core.node.storage.losses import ASK_MS, Losses
from penstock.core.node.storage.replicas import Replicas
from penstock.core.node.storage.stray_reports import StrayReports
from penstock.core.wire.schema import Request

INDEX_CACHE_BYTES_MAX = 32 << 20
"""Indexes of sealed segments, read on demand, shared by all logs."""


def start(node: Node) -> Steps[None]:
    """Open the folder and take part in the quorum; the node serves others once it knows what is committed."""
    # Until it is known whose folder this is, nobody can be vouched for, and later not either.
    node.tasks.on_disk_failed = node.runtime_note.remove
    node.meta = yield from _identify(node)
    context = LogContext(node.files, node.tasks, IndexCache(INDEX_CACHE_BYTES_MAX))
    node.quorum = yield from open_quorum(node, context)
    node.quorum.bootstrap = yield from read_bootstrap(node.settings.metadata_log_dir)
    node.has_quorum = True
    node.cluster = Cluster(node)
    if node.quorum.has_begun:
        node.cluster.follow_leadership()
    node.quorum.when_caught_up(lambda: node.tasks.run(_serve(node, context), node.started))


def _serve(node: Node, context: LogContext) -> Steps[None]:
    """Take up what the metadata says of this node, and take part in the cluster."""
    node.take(node.quorum.start_image())
    node.reconfigure()
    node.lineage = Lineage(node.settings.log_dir, node.boot_id, node.new_id(), node.runtime_note)
    trouble = DiskTrouble(node)
    node.tasks.on_disk_failed = trouble.disk_failed
    expiration_ms = node.settings["producer.id.expiration.ms"]
    census = ProducerCensus(
        node.settings["penstock.producers.per.partition.max"],
        node.settings["penstock.producers.max"],
        lambda: directory.logs.values(),
    )
    context = replace_fields(
        context,
        census=census,
        producer_id_expiration_ms=expiration_ms,
        before_loss=node.lineage.cut,
        on_damage=trouble.damage_found,
        on_loss=trouble.write_lost,
        on_failure=trouble.log_failed,
        on_bad_index=trouble.index_rebuilt,
        on_lack=trouble.gap_found,
        on_corrupt=node.scrub.met,
    )
    directory = LogDirectory(node.settings.log_dir, context)
    node.replicas = Replicas(node.settings, directory, node.replication)
    schemas = SchemaKnowledge(node, node.make_check)
    node.replicas.schemas = schemas
    if node.is_broker:
        node.replicas.on_applied = schemas.reader.image_changed
    node.replicas.on_mended = trouble.damage_cut
    node.losses = Losses(node, node.replication.around, partial(_tell_controller, node), node.scrub.forget)
    node.replicas.on_following = node.losses.give_up
    reports = StrayReports(node.settings.log_dir, directory.deferred_delete, node.log)
    node.replicas.on_added = node.coordinators.added
    node.replicas.on_removed = node.coordinators.removed
    if node.is_broker:
        yield from _adopt_logs(node, directory, reports)
    node.quorum.open(node.publish)
    node.has_opened = True
    _join(node)


def _tell_controller(node: Node, request: Request) -> None:
    node.cluster.channel.ask(request, ASK_MS, lambda response: None, ASSIGN)


def _adopt_logs(node: Node, directory: LogDirectory, reports: StrayReports) -> Steps[None]:
    """Open the logs that are here, and give them their roles. A node that is only a controller leaves them alone."""
    yield from directory.read_clean_mark()
    yield from node.lineage.begin(node.image.brokers.get(node.node_id), directory.broker_epoch)
    went_on = node.lineage.previous_epoch != NO_EPOCH
    settings_for = partial(node.replicas.topic_settings, node.image)
    yield from directory.load(settings_for, node.now_ms, went_on=went_on)
    if not directory.was_clean and directory.logs:
        # The names of folders that were made shortly before a crash must last before anything in them is promised.
        yield from sync_folder(node.settings.log_dir)
        why = "the last stop was not a clean one"
        if node.lineage.previous_epoch != NO_EPOCH:
            why += "; the machine went on, so nothing is lost"
        node.log("info", "storage", f"recovered {len(directory.logs)} partition(s): {why}")
    reports.count()
    yield from node.replicas.adopt(node.image, node.quorum.take_removed(), node.now_ms)


def _join(node: Node) -> None:
    """A node that is all of its cluster leads as soon as it begins, and registers. Others ask the controller, which may
    be in this very process, to let them in; who is no broker needs no leave."""
    _check_level(node)
    if node.cluster.is_lone:
        node.quorum.on_leadership(lambda leader_id, epoch: _register_once(node))
        node.quorum.begin()
        return
    if not node.quorum.has_begun:
        node.cluster.follow_leadership()
        node.quorum.begin()
    if node.is_broker:
        node.cluster.join(node.lineage.previous_epoch, lambda: _run(node))
    else:
        _run(node)


def _register_once(node: Node) -> None:
    if node.quorum.leads and node.state == "starting":
        _register(node)


def _identify(node: Node) -> Steps[Meta]:
    """Whose folder this is. An empty one becomes ours; one with other things in it is refused."""
    root = node.settings.log_dir
    yield MakeDir(root)
    data = yield from read_file(f"{root}/{META_FILE}")
    if data is None:
        return (yield from _format(node, root))
    meta = decode_meta(data)
    if meta.node_id != node.node_id:
        raise StorageError(
            f"{root} belongs to node {meta.node_id}, but node.id is {node.node_id}; "
            "use the folder of this node, or set node.id to match"
        )
    return meta


def _format(node: Node, root: str) -> Steps[Meta]:
    entries: list[Entry] = yield ListDir(root)
    strangers = [entry.name for entry in entries if not entry.name.startswith(".")]
    if strangers == [METADATA_DIR] and (yield from is_only_founded(f"{root}/{METADATA_DIR}")):
        strangers = []  # A crash has ended an earlier attempt to format it.
    if strangers:
        raise StorageError(
            f"{root} holds {strangers[0]!r} but no {META_FILE}: it is not a data folder; "
            "choose an empty one, or run `penstock storage format`"
        )
    founds_alone = is_founder(node.settings)
    if not founds_alone and not is_only_voter(node.settings):
        raise StorageError(
            f"{root} is not formatted, and the nodes of a cluster must have one cluster id in common: "
            f"run `penstock storage format --cluster-id ID` on each of them{_how_to_format(node)}"
        )
    meta = Meta(META_VERSION, uuid_text(node.new_id()), node.node_id, uuid_text(node.new_id()))
    if founds_alone and node.settings["controller.quorum.bootstrap.servers"]:
        # Whoever is to be found by its address, and not by a fixed list, may get company later.
        voters = founding_voters(node.settings, uuid_bytes(meta.directory_id), node.host_name)
        yield from found_quorum(f"{node.settings.metadata_log_dir}/{METADATA_DIR}", voters, node.now_ms)
    yield from replace(f"{root}/{META_FILE}", encode_meta(meta))
    yield from sync_folder(root)
    yield from _sync_name(root)
    return meta


def _how_to_format(node: Node) -> str:
    """What else must be said where voters are not named in the settings."""
    if not node.settings.is_controller:
        return "; `penstock cluster info` shows the id of one that runs"
    if node.settings["controller.quorum.voters"]:
        return ""
    return ", with --initial-controllers or --standalone for the first controllers, --no-initial-controllers for others"


def _sync_name(folder: str) -> Steps[None]:
    """A folder that this process may not look into was made for it by somebody else, and lasts already."""
    try:
        yield from sync_folder(folder.rpartition("/")[0] or "/")
    except FileFailure as failure:
        if failure.errno != errno.EACCES:
            raise


def _register(node: Node) -> None:
    """Write down who we are; the node serves once that is committed."""
    node.submit(node.cluster.lone_registration(), lambda code: _registered(node, code))


def _check_level(node: Node) -> None:
    level = node.image.features.get(METADATA_VERSION, 0)
    if level > METADATA_LEVEL:
        raise PenstockError(
            f"the metadata is at level {level}, this Penstock knows up to {METADATA_LEVEL}; start the newer one"
        )


def _registered(node: Node, code: ErrorCode) -> None:
    if code is not ErrorCode.NONE:
        node.fail(f"the metadata log cannot be written: {code.name}")
        return
    _run(node)


def _run(node: Node) -> None:
    if node.state != "starting":
        return  # It was told to stop meanwhile.
    if node.cluster.is_lone:
        node.cluster.follow_leadership()
    node.state = "running"
    node.housekeeping.begin()
    if node.is_broker:
        node.replicas.on_applied()
        node.scrub.begin()


def stop(node: Node) -> Steps[None]:
    """Let nobody in, answer nobody, then close every log and leave the mark of a clean stop."""
    for connection in list(node.connections):
        connection.close()
    node.coordinators.close()
    yield from node.quorum.close()
    node.links.close_all()
    if node.is_broker:
        epoch = _epoch_to_leave(node)
        yield from node.replicas.close(epoch)
        if epoch != NO_EPOCH:
            node.lineage.end()


def _epoch_to_leave(node: Node) -> int:
    """With which epoch the mark of a clean stop vouches for the logs: this process's own, or, if it was never let in,
    that of the one before it, if nothing of that one's was lost."""
    if node.lineage.is_doubtful:
        return NO_EPOCH
    if node.cluster.is_lone:
        broker = node.image.brokers.get(node.node_id)
        return NO_EPOCH if broker is None else broker.epoch
    epoch = node.cluster.broker_lifecycle.epoch
    return node.lineage.previous_epoch if epoch == NO_EPOCH else epoch


def explain(error: Exception, root: str) -> str:
    """One line for a person about why a node did not start."""
    if isinstance(error, FileFailure):
        return f"the data folder {root} cannot be used: {error.message}"
    return str(error) if isinstance(error, PenstockError) else f"starting failed: {error!r}"
