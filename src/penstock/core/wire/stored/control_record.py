"""Control records that end transactions: the type in the key, the marker in the value."""

from penstock.core.wire.schema import StoredRecord, int16, int32


class ControlRecordTypeSchema(StoredRecord, versions="0"):
    type: int = int16()


class EndTxnMarker(StoredRecord, versions="0"):
    coordinator_epoch: int = int32()
