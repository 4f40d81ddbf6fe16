"""The columns as Arrow types: exactly what Spark expects for the columns of its own Kafka source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

HEADER: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])
HEADERS: Final = pa.list_(pa.field("element", HEADER))
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")

TYPES: Final[Mapping[str, pa.DataType]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": TIMESTAMP,
    "timestampType": pa.int32(),
    "headers": HEADERS,
}


def schema_of(columns: Sequence[str]) -> pa.Schema:
    return pa.schema([(name, TYPES[name]) for name in columns])
