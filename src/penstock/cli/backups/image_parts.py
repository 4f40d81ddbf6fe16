"""The part of a cluster's metadata that a backup holds, and a metadata image as one file."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import islice
from typing import Final

from penstock.client.metadata_log import Metadata
from penstock.core.base.settings.classify import classify
from penstock.core.log.names import METADATA_TOPIC
from penstock.core.metadata.fold import Fold, fold
from penstock.core.metadata.framing import decode_record, encode_record
from penstock.core.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, Image
from penstock.core.metadata.levels import level_of
from penstock.core.metadata.snapshot import image_records
from penstock.core.node.quorum.snapshot_files import RECORDS_PER_BATCH_MAX
from penstock.core.raft.checkpoint import snapshot_foot, snapshot_head
from penstock.core.raft.history import VoterHistory
from penstock.core.raft.ids import LogEnd, SnapshotId
from penstock.core.records.batch import iterate_headers, read_header
from penstock.core.records.build import build_batch
from penstock.core.records.record import iterate
from penstock.core.wire.schema import StoredRecord
from penstock.core.wire.stored.cluster_metadata import (
    ConfigRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
)

STATE_TOPICS: Final = frozenset(
    {METADATA_TOPIC, "__consumer_offsets", "__transaction_state", "__share_group_state", "__remote_log_metadata"}
)
"""What coordinators keep. Commits are kept one by one; no transaction is open below a cut, so that there is nothing to
keep of any; what share groups have acknowledged is lost, and they begin anew."""


def chosen(image: Image, wanted: Set[str]) -> Image:
    """Without the other topics, and without the settings that are theirs."""
    gone = [topic for name, topic in image.topics.items() if name not in wanted]
    records: list[StoredRecord] = [RemoveTopicRecord(topic_id=topic.id) for topic in gone]
    return _folded(image, records)


def without_credentials(image: Image) -> Image:
    """Nothing by which somebody could get in: no users' secrets, no tokens, no passwords in settings of brokers."""
    access = image.access
    records: list[StoredRecord] = [
        RemoveUserScramCredentialRecord(name=name, mechanism=kind) for name, kind in access.credentials
    ]
    records += [RemoveDelegationTokenRecord(token_id=each) for each in access.tokens]
    return _folded(image, [*records, *_secret_settings(image)])


def _secret_settings(image: Image) -> Iterator[StoredRecord]:
    for resource, values in image.configs.items():
        kind, _, name = resource.partition("/")
        for key in values:
            if int(kind) == BROKER_RESOURCE and _may_be_secret(key):
                yield ConfigRecord(resource_type=int(kind), resource_name=name, name=key, value=None)


def _may_be_secret(name: str) -> bool:
    """As for Kafka, what nobody knows may be one."""
    key = classify(name).key
    return key is None or key.is_sensitive


def without_remote_storage(image: Image) -> Image:
    """What was in remote storage is in the backup, and the log that is made of it is whole."""
    records: list[StoredRecord] = [
        ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=name, name="remote.storage.enable", value=None)
        for name in image.topics
        if "remote.storage.enable" in image.config(TOPIC_RESOURCE, name)
    ]
    return _folded(image, records)


def _folded(image: Image, records: list[StoredRecord]) -> Image:
    return fold(image, records, image.offset)[0] if records else image


def encode(metadata: Metadata, now_ms: int) -> bytes:
    """A snapshot in Kafka's format, which its own tools can read. It may hold secrets, and is in no file before it is
    where it belongs."""
    image, snapshot_id = metadata.image, SnapshotId(metadata.end.offset, metadata.end.epoch)
    found = snapshot_head(VoterHistory(), snapshot_id, now_ms, now_ms)
    offset, level = read_header(found).next_offset, level_of(image.features)
    records = image_records(image)
    while values := [encode_record(each, level) for each in islice(records, RECORDS_PER_BATCH_MAX)]:
        batch = [(None, value, (), now_ms) for value in values]
        found += build_batch(batch, base_offset=offset, leader_epoch=snapshot_id.epoch)
        offset += len(values)
    return bytes(found + snapshot_foot(snapshot_id, offset, now_ms))


def decode(data: bytes, end: LogEnd) -> Metadata:
    """What was encoded; whoever read it has verified it."""
    found = Fold(Image(), end.offset - 1)
    for at, header in iterate_headers(data):
        if not header.is_control:
            for record in iterate(data, at):
                found.apply(decode_record(record.value or b""))
    return Metadata(found.finish(), end)
