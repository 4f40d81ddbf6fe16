"""Segments in an object store, as `__remote_log_metadata` keeps them."""

from penstock.core.wire.schema import (
    StoredRecord,
    Struct,
    array,
    blob,
    boolean,
    int8,
    int32,
    int64,
    string,
    struct,
    uuid,
)


class RemoteLogSegmentMetadataRecordTopicIdPartitionEntry(Struct):
    name: str = string()
    id: bytes = uuid()
    partition: int = int32()


class RemoteLogSegmentMetadataRecordRemoteLogSegmentIdEntry(Struct):
    topic_id_partition: RemoteLogSegmentMetadataRecordTopicIdPartitionEntry = struct(
        RemoteLogSegmentMetadataRecordTopicIdPartitionEntry
    )
    id: bytes = uuid()


class RemoteLogSegmentMetadataRecordSegmentLeaderEpochEntry(Struct):
    leader_epoch: int = int32()
    offset: int = int64()


class RemoteLogSegmentMetadataRecord(StoredRecord, type=0, versions="0", flexible="0+"):
    remote_log_segment_id: RemoteLogSegmentMetadataRecordRemoteLogSegmentIdEntry = struct(
        RemoteLogSegmentMetadataRecordRemoteLogSegmentIdEntry
    )
    start_offset: int = int64()
    end_offset: int = int64()
    broker_id: int = int32()
    max_timestamp_ms: int = int64()
    event_timestamp_ms: int = int64()
    segment_leader_epochs: list[RemoteLogSegmentMetadataRecordSegmentLeaderEpochEntry] = array(
        RemoteLogSegmentMetadataRecordSegmentLeaderEpochEntry
    )
    segment_size_in_bytes: int = int32()
    custom_metadata: bytes | None = blob(nullable="0+", default=None)
    remote_log_segment_state: int = int8()
    txn_index_empty: bool = boolean(tag=0)


class RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry(Struct):
    name: str = string()
    id: bytes = uuid()
    partition: int = int32()


class RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry(Struct):
    topic_id_partition: RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry = struct(
        RemoteLogSegmentMetadataUpdateRecordTopicIdPartitionEntry
    )
    id: bytes = uuid()


class RemoteLogSegmentMetadataUpdateRecord(StoredRecord, type=1, versions="0", flexible="0+"):
    remote_log_segment_id: RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry = struct(
        RemoteLogSegmentMetadataUpdateRecordRemoteLogSegmentIdEntry
    )
    broker_id: int = int32()
    event_timestamp_ms: int = int64()
    custom_metadata: bytes | None = blob(nullable="0+", default=None)
    remote_log_segment_state: int = int8()


class RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry(Struct):
    name: str = string()
    id: bytes = uuid()
    partition: int = int32()


class RemotePartitionDeleteMetadataRecord(StoredRecord, type=2, versions="0", flexible="0+"):
    topic_id_partition: RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry = struct(
        RemotePartitionDeleteMetadataRecordTopicIdPartitionEntry
    )
    broker_id: int = int32()
    event_timestamp_ms: int = int64()
    remote_partition_delete_state: int = int8()


class RemoteLogSegmentMetadataSnapshotRecordSegmentLeaderEpochEntry(Struct):
    leader_epoch: int = int32()
    offset: int = int64()


class RemoteLogSegmentMetadataSnapshotRecord(StoredRecord, type=3, versions="0", flexible="0+"):
    segment_id: bytes = uuid()
    start_offset: int = int64()
    end_offset: int = int64()
    broker_id: int = int32()
    max_timestamp_ms: int = int64()
    event_timestamp_ms: int = int64()
    segment_leader_epochs: list[RemoteLogSegmentMetadataSnapshotRecordSegmentLeaderEpochEntry] = array(
        RemoteLogSegmentMetadataSnapshotRecordSegmentLeaderEpochEntry
    )
    segment_size_in_bytes: int = int32()
    custom_metadata: bytes | None = blob(nullable="0+", default=None)
    remote_log_segment_state: int = int8()
    txn_index_empty: bool = boolean(tag=0)
