"""From a column of values to columns of fields, and a reason for each value that cannot be read. What workers run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from penstock.client.errors import ClientError
from penstock.core.base.errors import PenstockError
from penstock.core.delivery.policy import describe
from penstock.schemas.model import SchemaError
from penstock.schemas.typed.wire import HEADER_BYTES, MAGIC
from penstock.spark.pipelines.shapes import row_shape
from penstock.spark.typed.pinned import Text
from penstock.spark.typed.reader import Read, Reader, Unfit, reader_of
from penstock.spark.typed.writers import GUID_MAGIC, Writers

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

GUID_BYTES: Final = 17
VALUE_HEADER: Final = "__value_schema_id"
"""Where serialisers put the GUID of a value's schema, if they put it into a header."""
KEY_HEADER: Final = "__key_schema_id"

_MISFITS: Final = (pa.ArrowException, OverflowError, TypeError, ValueError)

Headers = Sequence[Mapping[str, Any]] | None


class Fault(NamedTuple):
    """Why a value cannot be read: the class of the error, and what it says."""

    kind: str
    message: str


class Decoded(NamedTuple):
    """One column for each field, null where a value has a fault; and the faults, by their places."""

    columns: list[pa.Array]
    faults: dict[int, Fault]


class BatchDecoder:
    """Decodes whole batches. What it has found out about a writer's schema holds for the batches to come."""

    def __init__(self, reader: Reader, writers: Callable[[bytes], Text], header: str = VALUE_HEADER) -> None:
        self._reader = reader
        self._writers = writers
        self._header = header
        self._reads: dict[bytes, Read] = {}
        self._final = [field.type for field in row_shape(reader.fields).arrow]

    @property
    def fields(self) -> StructType:
        return self._reader.fields

    def decode_column(self, values: pa.Array, headers: pa.Array | None = None) -> Decoded:
        return self.decode(values.to_pylist(), None if headers is None else self._telling(headers))

    def _telling(self, headers: pa.Array) -> Sequence[Headers] | None:
        """Nobody looks through the headers of a batch in which none names a schema."""
        keys = headers.flatten().field("key")
        return headers.to_pylist() if pc.any(pc.equal(keys, self._header)).as_py() else None

    def decode(self, values: Sequence[bytes | None], headers: Sequence[Headers] | None = None) -> Decoded:
        """A value that is null has null fields and no fault."""
        faults: dict[int, Fault] = {}
        rows: list[dict[str, Any] | None] = []
        for place, value in enumerate(values):
            try:
                rows.append(None if value is None else self._row(value, None if headers is None else headers[place]))
            except ClientError:
                # The registry is away; the value may be as good as any.
                raise
            except Exception as failure:
                rows.append(None)
                faults[place] = _fault(failure)
        return Decoded(self._columns(rows, faults), faults)

    def _row(self, value: bytes, headers: Headers) -> dict[str, Any]:
        if headers and (named := self._named(headers)) is not None:
            return self._read(named[:GUID_BYTES])(named[GUID_BYTES:] + value)
        mark = value[:HEADER_BYTES]
        return (self._reads.get(mark) or self._read(mark))(value[HEADER_BYTES:])

    def _named(self, headers: Sequence[Mapping[str, Any]]) -> bytes | None:
        """The GUID in a header, and for Protobuf which message it is."""
        for each in reversed(headers):
            if each["key"] == self._header:
                found: bytes = each["value"] or b""
                if len(found) < GUID_BYTES or found[0] != GUID_MAGIC:
                    raise Unfit(f"the header {self._header} holds no GUID: a one and sixteen bytes")
                return found
        return None

    def _read(self, mark: bytes) -> Read:
        if mark not in self._reads:
            if len(mark) < HEADER_BYTES or (mark[0] != MAGIC and len(mark) < GUID_BYTES):
                raise Unfit("no id of a schema stands in front: a zero and four bytes")
            self._reads[mark] = self._reader_of(mark)
        return self._reads[mark]

    def _reader_of(self, mark: bytes) -> Read:
        try:
            return self._reader.of(self._writers(mark))
        except SchemaError as failure:
            reason = failure

        def refuse(payload: bytes) -> dict[str, Any]:
            raise reason

        return refuse

    def _columns(self, rows: list[dict[str, Any] | None], faults: dict[int, Fault]) -> list[pa.Array]:
        try:
            return self._made(rows)
        except _MISFITS:
            # Some value is beyond what a column can hold: a time in the year 300000.
            self._find(rows, faults, 0, len(rows))
            return self._made(rows)

    def _find(self, rows: list[dict[str, Any] | None], faults: dict[int, Fault], start: int, end: int) -> None:
        """Takes rows that make no columns out, halving what may hold one."""
        try:
            self._made(rows[start:end])
        except _MISFITS as failure:
            if end - start == 1:
                rows[start] = None
                faults[start] = _fault(failure)
                return
            middle = (start + end) // 2
            self._find(rows, faults, start, middle)
            self._find(rows, faults, middle, end)

    def _made(self, rows: list[dict[str, Any] | None]) -> list[pa.Array]:
        columns = pa.array(rows, self._reader.arrow).flatten()
        pairs = zip(columns, self._final, strict=True)
        return [column if column.type == final else column.cast(final) for column, final in pairs]


def decoder_of(url: str, schema: Text, header: str = VALUE_HEADER) -> BatchDecoder:
    """For values of a registry's writers, read with a schema."""
    return BatchDecoder(reader_of(schema), Writers(url), header)


def _fault(failure: Exception) -> Fault:
    # What a library raises for wrong bytes is the same to who reads of it.
    name = type(failure).__name__
    text = describe(failure) or name
    return Fault(name, text if isinstance(failure, PenstockError | ValueError) else f"{name}: {text}")
