"""From a folder to a serving node, and back: what happens in which order when a node starts and stops."""

from __future__ import annotations

import errno
from dataclasses import replace as replace_fields
from typing import TYPE_CHECKING

from penstock.core.base.errors import ErrorCode, PenstockError
from penstock.core.base.ports import Entry, FileFailure, ListDir, MakeDir, Steps
from penstock.core.base.settings import TopicSettings
from penstock.core.log.checkpoints import read_file, replace
from penstock.core.log.directory import LogDirectory
from penstock.core.log.durable import sync_folder
from penstock.core.log.index_file import IndexCache
from penstock.core.log.recovery import Standing, open_log
from penstock.core.log.settings import LogContext
from penstock.core.metadata.features import METADATA_LEVEL, METADATA_VERSION, SUPPORTED_FEATURES
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
from penstock.core.node.quorum import METADATA_TOPIC, Quorum
from penstock.core.node.replicas import Replicas
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import (
    BrokerEndpoint,
    BrokerFeature,
    FeatureLevelRecord,
    RegisterBrokerRecord,
)

if TYPE_CHECKING:
    from penstock.core.node.node import Node

PLAINTEXT = 0
INDEX_CACHE_BYTES_MAX = 32 << 20
"""Indexes of sealed segments, read on demand, shared by all logs."""


def start(node: Node) -> Steps[None]:
    """Open the folder, fold the metadata, adopt the logs, register. The node serves when this returns."""
    node.meta = yield from _identify(node)
    context = LogContext(node.files, node.tasks, IndexCache(INDEX_CACHE_BYTES_MAX))
    node.quorum = yield from _open_quorum(node, context)
    node.image = yield from node.quorum.load()
    node.reconfigure()
    expiration_ms = node.settings["producer.id.expiration.ms"]
    directory = LogDirectory(node.settings.log_dir, replace_fields(context, producer_id_expiration_ms=expiration_ms))
    node.replicas = Replicas(node.settings, directory, node.node_id)
    node.replicas.on_added = node.coordinators.added
    node.replicas.on_removed = node.coordinators.removed
    yield from directory.load(lambda topic: node.replicas.topic_settings(node.image, topic), node.now_ms)
    if not directory.was_clean and directory.logs:
        # The names of folders that were made shortly before a crash must last before anything in them is promised.
        yield from sync_folder(node.settings.log_dir)
        node.log("info", f"recovered {len(directory.logs)} partition(s): the last stop was not a clean one")
    yield from node.replicas.adopt(node.image, node.now_ms)
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


def _open_quorum(node: Node, context: LogContext) -> Steps[Quorum]:
    folder = f"{node.settings.metadata_log_dir}/{METADATA_TOPIC}-0"
    yield MakeDir(folder)
    yield from sync_folder(node.settings.metadata_log_dir)
    settings = TopicSettings(node.settings, {"segment.bytes": str(node.settings["metadata.log.segment.bytes"])})
    # Every record was synced before anybody heard of it, so looking at all of them again costs little and shows all.
    log = yield from open_log(METADATA_TOPIC, 0, folder, settings, context, Standing(False, 0, 0, None), node.now_ms)
    return Quorum(log, node.tasks, node.publish)


def _register(node: Node) -> None:
    """Tell the cluster who we are; the node serves once that is committed."""
    records: list[StoredRecord] = []
    level = node.image.features.get(METADATA_VERSION)
    if level is None:
        records.append(FeatureLevelRecord(name=METADATA_VERSION, feature_level=METADATA_LEVEL))
    elif level > METADATA_LEVEL:
        raise PenstockError(
            f"the metadata is at level {level}, this Penstock knows up to {METADATA_LEVEL}; start the newer one"
        )
    records.append(_registration(node))
    node.submit(records, lambda code: _registered(node, code))


def _registration(node: Node) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=node.node_id,
        incarnation_id=node.new_id(),
        broker_epoch=node.quorum.end_offset,
        end_points=[
            BrokerEndpoint(name=point.name, host=point.host, port=point.port, security_protocol=PLAINTEXT)
            for point in node.advertised
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
        ],
        rack=node.settings["broker.rack"],
        fenced=False,
        log_dirs=[uuid_bytes(node.meta.directory_id)],
    )


def _registered(node: Node, code: ErrorCode) -> None:
    if code is not ErrorCode.NONE:
        node.fail(f"the metadata log cannot be written: {code.name}")
        return
    node.state = "running"
    node.housekeeping.begin()


def stop(node: Node) -> Steps[None]:
    """Let nobody in, answer nobody, then close every log and leave the mark of a clean stop."""
    for connection in list(node.connections):
        connection.close()
    node.coordinators.close()
    yield from node.quorum.log.close()
    broker = node.image.brokers.get(node.node_id)
    yield from node.replicas.close(-1 if broker is None else broker.epoch)


def explain(error: Exception, root: str) -> str:
    """One line for a person about why a node did not start."""
    if isinstance(error, FileFailure):
        return f"the data folder {root} cannot be used: {error.message}"
    return str(error) if isinstance(error, PenstockError) else f"starting failed: {error!r}"
