"""AssignReplicasToDirs: API key 73, version 0, flexible from 0; for controllers."""

from penstock.core.wire.schema import Request, Response, Struct, array, int16, int32, int64, uuid


class RequestPartitionData(Struct):
    partition_index: int = int32()


class RequestTopicData(Struct):
    topic_id: bytes = uuid()
    partitions: list[RequestPartitionData] = array(RequestPartitionData)


class RequestDirectoryData(Struct):
    id: bytes = uuid()
    topics: list[RequestTopicData] = array(RequestTopicData)


class AssignReplicasToDirsRequest(Request, key=73, versions="0", flexible="0+"):
    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    directories: list[RequestDirectoryData] = array(RequestDirectoryData)


class ResponsePartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()


class ResponseTopicData(Struct):
    topic_id: bytes = uuid()
    partitions: list[ResponsePartitionData] = array(ResponsePartitionData)


class ResponseDirectoryData(Struct):
    id: bytes = uuid()
    topics: list[ResponseTopicData] = array(ResponseTopicData)


class AssignReplicasToDirsResponse(Response, key=73, versions="0", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    directories: list[ResponseDirectoryData] = array(ResponseDirectoryData)
