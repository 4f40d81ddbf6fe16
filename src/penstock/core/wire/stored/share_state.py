"""What a share group has acknowledged of a partition, as `__share_group_state` keeps it."""

from penstock.core.wire.schema import StoredRecord, Struct, array, int8, int16, int32, int64, string, uuid


class ShareSnapshotKey(StoredRecord, type=0, versions="0"):
    group_id: str = string()
    topic_id: bytes = uuid()
    partition: int = int32()


class ShareSnapshotValueStateBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


class ShareSnapshotValue(StoredRecord, type=0, versions="0", flexible="0+"):
    snapshot_epoch: int = int32()
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(default=-1, tag=0)
    create_timestamp: int = int64()
    write_timestamp: int = int64()
    state_batches: list[ShareSnapshotValueStateBatch] = array(ShareSnapshotValueStateBatch)


class ShareUpdateKey(StoredRecord, type=1, versions="0"):
    group_id: str = string()
    topic_id: bytes = uuid()
    partition: int = int32()


class ShareUpdateValueStateBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


class ShareUpdateValue(StoredRecord, type=1, versions="0", flexible="0+"):
    snapshot_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(default=-1, tag=0)
    state_batches: list[ShareUpdateValueStateBatch] = array(ShareUpdateValueStateBatch)
