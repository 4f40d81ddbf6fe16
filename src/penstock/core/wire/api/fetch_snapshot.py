"""FetchSnapshot: API key 59, versions 0 to 1, flexible from 0; for controllers."""

from penstock.core.wire.schema import (
    Records,
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    record_set,
    string,
    struct,
    uint16,
    uuid,
)


class RequestSnapshotId(Struct):
    end_offset: int = int64()
    epoch: int = int32()


class RequestPartitionSnapshot(Struct):
    partition: int = int32()
    current_leader_epoch: int = int32()
    snapshot_id: RequestSnapshotId = struct(RequestSnapshotId)
    position: int = int64()
    replica_directory_id: bytes = uuid(versions="1+", tag=0, ignorable=True)


class RequestTopicSnapshot(Struct):
    name: str = string()
    partitions: list[RequestPartitionSnapshot] = array(RequestPartitionSnapshot)


class FetchSnapshotRequest(Request, key=59, versions="0-1", flexible="0+"):
    cluster_id: str | None = string(nullable="0+", default=None, tag=0)
    replica_id: int = int32(default=-1)
    max_bytes: int = int32(default=2147483647)
    topics: list[RequestTopicSnapshot] = array(RequestTopicSnapshot)


class ResponseSnapshotId(Struct):
    end_offset: int = int64()
    epoch: int = int32()


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32()
    leader_epoch: int = int32()


class ResponsePartitionSnapshot(Struct):
    index: int = int32()
    error_code: int = int16()
    snapshot_id: ResponseSnapshotId = struct(ResponseSnapshotId)
    current_leader: LeaderIdAndEpoch | None = struct(LeaderIdAndEpoch, tag=0)
    size: int = int64()
    position: int = int64()
    unaligned_records: Records | None = record_set()


class ResponseTopicSnapshot(Struct):
    name: str = string()
    partitions: list[ResponsePartitionSnapshot] = array(ResponsePartitionSnapshot)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = uint16()


class FetchSnapshotResponse(Response, key=59, versions="0-1", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[ResponseTopicSnapshot] = array(ResponseTopicSnapshot)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, versions="1+", tag=0)
