"""Tables over topics: `CREATE TABLE orders USING penstock OPTIONS (...)`.

Spark shows a source in Python the options of a table when the table is created, and never again. What it does keep, and
hands back to whoever reads, is the schema. So the options travel there, in the metadata of the first column.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StructField, StructType

from penstock.client.security import SECRETS
from penstock.spark.rows.settings import PREFIX
from penstock.spark.source.errors import OptionError

KEPT_IN: Final = "penstock.options"
NO_OPTIONS: Final = (
    "there are no options at all, not even kafka.bootstrap.servers. If this is a table: one that is created with a "
    "list of columns keeps no options, so leave the list out, and choose columns with the option `columns`"
)
# What a table's creation has among its options and no query has: the source's name, and each option once more.
_PROVIDER: Final = "provider"
_OPTION: Final = "option."


def is_created_with(options: Mapping[str, str]) -> bool:
    return options.get(_PROVIDER) == "penstock" and any(name.startswith(_OPTION) for name in options)


def own_options(options: Mapping[str, str]) -> CaseInsensitiveDict:
    """The options of a table that is being created, without what Spark has put beside them."""
    given = {name: value for name, value in options.items() if name.startswith(_OPTION)}
    return CaseInsensitiveDict({name.removeprefix(_OPTION): value for name, value in given.items()})


def with_options(schema: StructType, options: Mapping[str, str]) -> StructType:
    """The schema for Spark to keep. A schema is shown to everybody, so it takes no secrets."""
    for name in options:
        if name.lower().removeprefix(PREFIX) in SECRETS:
            raise OptionError(
                f"a table cannot have the option {name}: it would be readable in the schema. "
                "Use a temporary view or a DataFrame"
            )
    if "@" in options.get("registry", ""):
        raise OptionError("a table cannot have a registry's password: it would be readable in the schema")
    first, *others = schema.fields
    kept = {**(first.metadata or {}), KEPT_IN: json.dumps(dict(options))}
    return StructType([StructField(first.name, first.dataType, first.nullable, kept), *others])


def with_kept(options: Mapping[str, str], schema: StructType) -> Mapping[str, str]:
    """The options of a query, and those that its table was created with; the query's own win."""
    found = [field.metadata[KEPT_IN] for field in schema.fields if KEPT_IN in (field.metadata or {})]
    if not found and not options:
        raise OptionError(NO_OPTIONS)
    return CaseInsensitiveDict({**json.loads(found[0]), **options}) if found else options
