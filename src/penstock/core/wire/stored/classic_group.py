"""Classic groups and committed offsets, as `__consumer_offsets` keeps them."""

from penstock.core.wire.schema import StoredRecord, Struct, array, blob, int32, int64, string, uuid


class OffsetCommitKey(StoredRecord, type=1, versions="0"):
    group: str = string()
    topic: str = string()
    partition: int = int32()


class OffsetCommitValue(StoredRecord, type=1, versions="0-4", flexible="4+"):
    offset: int = int64()
    leader_epoch: int = int32(versions="3+", default=-1, ignorable=True)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64(versions="1", default=-1, ignorable=True)
    topic_id: bytes = uuid(versions="4+", tag=0, ignorable=True)


class LegacyOffsetCommitKey(StoredRecord, type=0, versions="0"):
    group: str = string()
    topic: str = string()
    partition: int = int32()


class LegacyOffsetCommitValue(StoredRecord, type=0, versions="0"):
    offset: int = int64()
    metadata: str = string()
    commit_timestamp: int = int64()


class GroupMetadataKey(StoredRecord, type=2, versions="0"):
    group: str = string()


class MemberMetadata(Struct):
    member_id: str = string()
    group_instance_id: str | None = string(versions="3+", nullable="3+", default=None, ignorable=True)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32(versions="1+", default=-1, ignorable=True)
    session_timeout: int = int32()
    subscription: bytes = blob()
    assignment: bytes = blob()


class GroupMetadataValue(StoredRecord, type=2, versions="0-4", flexible="4+"):
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable="0+")
    leader: str | None = string(nullable="0+")
    current_state_timestamp: int = int64(versions="2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = array(MemberMetadata)
