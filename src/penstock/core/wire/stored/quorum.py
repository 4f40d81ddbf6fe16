"""Control records of a Raft log, and the state a voter keeps in its file."""

from penstock.core.wire.schema import StoredRecord, Struct, array, int16, int32, int64, string, struct, uint16, uuid


class LeaderChangeMessageVoter(Struct):
    voter_id: int = int32()
    voter_directory_id: bytes = uuid(versions="1+")


class LeaderChangeMessage(StoredRecord, versions="0-1", flexible="0+"):
    version: int = int16()
    leader_id: int = int32()
    voters: list[LeaderChangeMessageVoter] = array(LeaderChangeMessageVoter)
    granting_voters: list[LeaderChangeMessageVoter] = array(LeaderChangeMessageVoter)


class SnapshotHeaderRecord(StoredRecord, versions="0", flexible="0+"):
    version: int = int16()
    last_contained_log_timestamp: int = int64()


class SnapshotFooterRecord(StoredRecord, versions="0", flexible="0+"):
    version: int = int16()


class KRaftVersionRecord(StoredRecord, versions="0", flexible="0+"):
    version: int = int16()
    k_raft_version: int = int16()


class Endpoint(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()


class KRaftVersionFeature(Struct):
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class VotersRecordVoter(Struct):
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()
    endpoints: list[Endpoint] = array(Endpoint)
    k_raft_version_feature: KRaftVersionFeature = struct(KRaftVersionFeature)


class VotersRecord(StoredRecord, versions="0", flexible="0+"):
    version: int = int16()
    voters: list[VotersRecordVoter] = array(VotersRecordVoter)


class QuorumStateDataVoter(Struct):
    voter_id: int = int32()


class QuorumStateData(StoredRecord, versions="0-1", flexible="0+"):
    cluster_id: str = string(versions="0")
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)
    voted_id: int = int32(default=-1)
    voted_directory_id: bytes = uuid(versions="1+")
    applied_offset: int = int64(versions="0")
    current_voters: list[QuorumStateDataVoter] | None = array(QuorumStateDataVoter, versions="0", nullable="0+")
