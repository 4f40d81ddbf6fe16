"""The options `registry` and `registry.*`: values that come as columns of their types.

Spark asks for the schema first, and hands it back to whoever reads. So the reader's schema travels there, in the
metadata of the first column, and all of a query reads with the one that was found when the frame was made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from pyspark.sql.types import StructField, StructType

from penstock.schemas.model import Format, Reference
from penstock.spark.source.errors import OptionError
from penstock.spark.typed.declaration import LATEST, Registry
from penstock.spark.typed.frames import DecodeColumns, columns_of
from penstock.spark.typed.pinned import Text, pinned
from penstock.spark.typed.reader import reader_of

URL: Final = "registry"
KEPT_IN: Final = "penstock.schema"
COLUMN: Final = "value"
FAILFAST, MODES = "FAILFAST", ("PERMISSIVE", "FAILFAST")


def is_typed(options: Mapping[str, str]) -> bool:
    return URL in options


def typed_schema(options: Mapping[str, str], raw: StructType) -> StructType:
    """The columns of a typed query, with what its values are read with."""
    if COLUMN not in raw.names:
        raise OptionError("the option registry is about the column value: name it among `columns`")
    text = pinned(_registry(options), _topics(options))
    first, *others = columns_of(raw, reader_of(text).fields, _decoding(options, text, tuple(raw.names))).fields
    return StructType([StructField(first.name, first.dataType, metadata={KEPT_IN: _kept(text)}), *others])


def decoding_of(options: Mapping[str, str], raw: StructType, schema: StructType) -> DecodeColumns:
    """What each task does, by the schema that Spark hands back."""
    found = [field.metadata[KEPT_IN] for field in schema.fields if KEPT_IN in (field.metadata or {})]
    if not found:
        raise OptionError("with the option registry the columns are those of its schema: leave .schema(...) out")
    return _decoding(options, _text(found[0]), tuple(raw.names))


def _decoding(options: Mapping[str, str], text: Text, names: tuple[str, ...]) -> DecodeColumns:
    mode = options.get("registry.mode", MODES[0]).upper()
    if mode not in MODES:
        raise OptionError(f"the option registry.mode is {' or '.join(MODES)}, not {mode!r}")
    others = tuple(name for name in names if name != COLUMN)
    return DecodeColumns(options[URL], text, COLUMN, others, mode == FAILFAST)


def _registry(options: Mapping[str, str]) -> Registry:
    version = options.get("registry.version", LATEST)
    if version != LATEST and not version.isdecimal():
        raise OptionError(f"the option registry.version is a number or latest, not {version!r}")
    try:
        return Registry(
            options[URL],
            options.get("registry.format", "avro"),  # type: ignore[arg-type]  # It says itself what it does not know.
            options.get("registry.subject"),
            LATEST if version == LATEST else int(version),
            options.get("registry.schema"),
            options.get("registry.message"),
        )
    except ValueError as failure:
        raise OptionError(str(failure)) from None


def _topics(options: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name.strip() for name in options.get("subscribe", "").split(",") if name.strip())


def _kept(text: Text) -> str:
    return json.dumps([text.format, text.text, [[each.name, each.text] for each in text.references], text.message])


def _text(kept: str) -> Text:
    format, text, references, message = json.loads(kept)
    return Text(Format(format), text, tuple(Reference(*each) for each in references), message, "the pinned schema")
