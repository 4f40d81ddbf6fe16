"""From a folder to a serving node, and back: what happens in which order when a node starts and stops."""

from __future__ import annotations

import errno
from dataclasses import replace as replace_fields
from typing import TYPE_CHECKING

from penstock.core.base.errors import ErrorCode, PenstockError
from penstock.core.base.ports import Entry, FileFailure, ListDir, MakeDir, Steps
from penstock.core.log.checkpoints import read_file, replace
from penstock.core.log.directory import LogDirectory
from penstock.core.log.durable import sync_folder
from penstock.core.log.index_file import IndexCache
from penstock.core.log.settings import LogContext
from penstock.core.metadata.features import METADATA_LEVEL, METADATA_VERSION
from penstock.core.metadata.storage import (
    META_FILE,
    META_VERSION,
    Meta,
    StorageError,
    decode_meta,
    encode_meta,
    uuid_text,
)
from penstock.core.node.cluster import Cluster
from penstock.core.node.quorum.opening import open_quorum
from penstock.core.node.registrar import NO_EPOCH
from penstock.core.node.replicas import Replicas

if TYPE_CHECKING:
    from penstock.core.node.node import Node

INDEX_CACHE_BYTES_MAX = 32 << 20
"""Indexes of sealed segments, read on demand, shared by all logs."""


def start(node: Node) -> Steps[None]:
    """Open the folder and take part in the quorum; the node serves others once it knows what is committed."""
    node.meta = yield from _identify(node)
    context = LogContext(node.files, node.tasks, IndexCache(INDEX_CACHE_BYTES_MAX))
    node.quorum = yield from open_quorum(node, context)
    node.cluster = Cluster(node)
    if not node.quorum.is_alone:
        node.cluster.follow_leadership()
    node.quorum.when_caught_up(lambda: node.tasks.run(_serve(node, context), node.started))


def _serve(node: Node, context: LogContext) -> Steps[None]:
    """Adopt the logs that the metadata knows, and register."""
    node.image = node.quorum.start_image()
    node.reconfigure()
    expiration_ms = node.settings["producer.id.expiration.ms"]
    directory = LogDirectory(node.settings.log_dir, replace_fields(context, producer_id_expiration_ms=expiration_ms))
    node.replicas = Replicas(node.settings, directory, node.replication)
    node.replicas.on_added = node.coordinators.added
    node.replicas.on_removed = node.coordinators.removed
    yield from directory.load(lambda topic: node.replicas.topic_settings(node.image, topic), node.now_ms)
    if not directory.was_clean and directory.logs:
        # The names of folders that were made shortly before a crash must last before anything in them is promised.
        yield from sync_folder(node.settings.log_dir)
        node.log("info", f"recovered {len(directory.logs)} partition(s): the last stop was not a clean one")
    yield from node.replicas.adopt(node.image, node.now_ms)
    node.quorum.open(node.publish)
    _join(node, directory.broker_epoch)


def _join(node: Node, previous_epoch: int) -> None:
    """The only voter leads as soon as it begins, and registers. Others ask the controller to let them in."""
    _check_level(node)
    if not node.quorum.is_alone:
        node.cluster.join(previous_epoch, lambda: _run(node))
    else:
        node.quorum.on_leadership(lambda leader_id, epoch: _register_once(node))
        node.quorum.begin()


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
    if strangers:
        raise StorageError(
            f"{root} holds {strangers[0]!r} but no {META_FILE}: it is not a data folder; "
            "choose an empty one, or run `penstock storage format`"
        )
    if len(node.settings["controller.quorum.voters"]) > 1:
        raise StorageError(
            f"{root} is not formatted, and the nodes of a cluster must have one cluster id in common: "
            "run `penstock storage format --cluster-id ID` on each of them"
        )
    meta = Meta(META_VERSION, uuid_text(node.new_id()), node.node_id, uuid_text(node.new_id()))
    yield from replace(f"{root}/{META_FILE}", encode_meta(meta))
    yield from sync_folder(root)
    yield from _sync_name(root)
    return meta


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
    if node.quorum.is_alone:
        node.cluster.follow_leadership()
    node.state = "running"
    node.housekeeping.begin()


def stop(node: Node) -> Steps[None]:
    """Let nobody in, answer nobody, then close every log and leave the mark of a clean stop."""
    for connection in list(node.connections):
        connection.close()
    node.coordinators.close()
    yield from node.quorum.close()
    node.links.close_all()
    yield from node.replicas.close(_epoch_to_leave(node))


def _epoch_to_leave(node: Node) -> int:
    """With which epoch the mark of a clean stop vouches for the logs: this process's own, or, if it was never let in,
    the one that the process before it left, if that one stopped cleanly. The image may still know one that did not."""
    if node.quorum.is_alone:
        broker = node.image.brokers.get(node.node_id)
        return NO_EPOCH if broker is None else broker.epoch
    epoch = node.cluster.registrar.epoch
    return node.replicas.previous_epoch if epoch == NO_EPOCH else epoch


def explain(error: Exception, root: str) -> str:
    """One line for a person about why a node did not start."""
    if isinstance(error, FileFailure):
        return f"the data folder {root} cannot be used: {error.message}"
    return str(error) if isinstance(error, PenstockError) else f"starting failed: {error!r}"
