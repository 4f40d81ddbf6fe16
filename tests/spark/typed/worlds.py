"""Writers' schemas by their ids, without a registry, and values that they wrote."""

from __future__ import annotations

import json
from typing import Any

from penstock.schemas.model import Format
from penstock.schemas.typed.codecs import codec_of
from penstock.schemas.typed.wire import frame
from penstock.spark.typed.batches import BatchDecoder
from penstock.spark.typed.pinned import Text
from penstock.spark.typed.reader import reader_of
from penstock.spark.typed.writers import UnknownSchema


class World:
    """Ids in the order in which schemas are added, from 1 on."""

    def __init__(self, format: Format) -> None:
        self.format = format
        self._texts: list[Text] = []
        self.asked = 0

    def text(self, schema: object) -> Text:
        return Text(self.format, schema if isinstance(schema, str) else json.dumps(schema))

    def add(self, schema: object) -> int:
        self._texts.append(self.text(schema))
        return len(self._texts)

    def written(self, id: int, value: Any) -> bytes:
        return frame(id, codec_of(self.format, self._texts[id - 1].text).encode(value))

    def writer(self, mark: bytes) -> Text:
        self.asked += 1
        id = int.from_bytes(mark[1:])
        if mark[0] == 0 and 0 < id <= len(self._texts):
            return self._texts[id - 1]
        if mark[0] == 1:
            return self._texts[-1]
        raise UnknownSchema(f"the registry has no schema with the id {id}")

    def decoder(self, schema: object, message: str | None = None) -> BatchDecoder:
        return BatchDecoder(reader_of(self.text(schema)._replace(message=message)), self.writer)


def rows(decoder: BatchDecoder, values: list[bytes | None], **more: Any) -> list[dict[str, Any]]:
    """Of values without a fault."""
    found = decoder.decode(values, **more)
    assert not found.faults, found.faults
    columns = [column.to_pylist() for column in found.columns]
    return [dict(zip(decoder.fields.names, row, strict=True)) for row in zip(*columns, strict=True)]


def faults(decoder: BatchDecoder, *values: bytes | None) -> dict[int, str]:
    return {place: fault.message for place, fault in decoder.decode(values).faults.items()}
