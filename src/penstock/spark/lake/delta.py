"""A Delta table that knows how far it has read its topic.

Each commit names its files and, as application transactions, the offset behind which each partition goes on. Both
count at once, so nothing can be in the table twice, or be missing, whatever the checkpoint of the query says. Two
drivers that add to one partition from the same state conflict, and the second one's commit is refused.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.transaction import AddAction

from penstock.core.base.errors import PenstockError
from penstock.spark.lake.files import Written
from penstock.spark.lake.places import By, Origin, Place

COMMIT: Final = "penstock.commit"
# A commit whose answer was lost is among the newest.
LOOK_BACK: Final = 20
COMPACT_FILES_MIN: Final = 16
SMALL_FILE_BYTES: Final = 32 << 20
TARGET_FILE_BYTES: Final = 128 << 20
_log = logging.getLogger("penstock.spark")


class TableRefused(PenstockError):
    """The table is not what this topic's records can go into."""


class Overtaken(PenstockError):
    """Somebody else has added to the table in the meantime."""


class Table:
    """The state of a table when it was opened. Commits build on that state, or are refused."""

    def __init__(self, place: Place, table: DeltaTable, origin: Origin) -> None:
        self._place = place
        self._table = table
        self.origin = origin

    @classmethod
    def opened(cls, place: Place) -> Table:
        """A table that is there; its description says which topic it holds."""
        table = _table(place)
        if table is None:
            raise TableRefused(f"there is no table in {place.address}: fill it with penstock pipeline lake TOPIC")
        return cls(place, table, _origin(place, table))

    @classmethod
    def made(cls, place: Place, origin: Origin, schema: pa.Schema, by: By, batch: int = 0) -> Table:
        """The table of a topic with at least these columns; made, or given columns, where that is needed. It is there
        when a query goes on: made then, it would begin in the middle of its topic, and nobody would know."""
        table = _table(place)
        if table is None and batch:
            raise TableRefused(
                f"there is no table in {place.address}, and its query has read on: "
                "remove the checkpoint of the query, and it fills the table from the beginning"
            )
        if table is None:
            DeltaTable.create(
                place.address,
                _with_time(schema, by),
                partition_by=by.column,
                mode="ignore",
                description=json.dumps({"topic": origin.topic, "topic_id": origin.topic_id}),
                storage_options=dict(place.options),
            )
            table = DeltaTable(place.address, storage_options=dict(place.options))
        _check(place, table, origin, by)
        if new := _new_columns(place, table, _with_time(schema, by)):
            table.alter.add_columns(new)
            table = DeltaTable(place.address, storage_options=dict(place.options))
        return cls(place, table, origin)

    @property
    def id(self) -> str:
        """Another one for each table that is made, also in the same place."""
        return str(self._table.metadata().id)

    @property
    def version(self) -> int:
        return self._table.version()

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(self._table.schema().to_arrow())

    @property
    def files(self) -> list[str]:
        return self._table.file_uris()

    def positions(self, partitions: Sequence[int]) -> dict[int, int]:
        """Where each partition goes on that has ever given a row."""
        found = {number: self._table.transaction_version(self._application(number)) for number in partitions}
        return {number: offset for number, offset in found.items() if offset is not None}

    def commit(self, files: Sequence[Written], ends: Mapping[int, int], facts: Mapping[str, Any]) -> None:
        """Let all files and positions count at once."""
        mine = uuid.uuid4().hex
        properties = CommitProperties(
            custom_metadata={COMMIT: mine, "penstock": json.dumps(facts)},
            app_transactions=[Transaction(self._application(number), end) for number, end in sorted(ends.items())],
        )
        columns = self._table.metadata().partition_columns
        actions: list[Any] = [_added(file, columns) for file in files]
        try:
            self._table.create_write_transaction(
                actions, "append", self._table.schema(), columns, commit_properties=properties
            )
        except (DeltaError, OSError) as failure:
            # The answer may have been lost behind a commit that counts.
            if not self._has(mine):
                raise self._refusal(failure) from failure

    def compact(self) -> bool:
        """Make few files of many small ones; readers see the same rows. Not worth a failure: the next one will do."""
        table = DeltaTable(self._place.address, storage_options=dict(self._place.options))
        sizes = pa.table(table.get_add_actions(flatten=True)).column("size_bytes").to_pylist()
        if sum(size < SMALL_FILE_BYTES for size in sizes) < COMPACT_FILES_MIN:
            return False
        try:
            table.optimize.compact(target_size=TARGET_FILE_BYTES)
        except DeltaError as failure:
            _log.warning("the files of %s stay as they are for now: %s", self._place.address, failure)
            return False
        return True

    def clean(self) -> None:
        """Remove files that no version of the last week names."""
        table = DeltaTable(self._place.address, storage_options=dict(self._place.options))
        table.vacuum(dry_run=False)

    def _application(self, partition: int) -> str:
        return f"penstock:{self.origin.topic}:{partition}"

    def _has(self, commit: str) -> bool:
        now = DeltaTable(self._place.address, storage_options=dict(self._place.options))
        return any(each.get(COMMIT) == commit for each in now.history(LOOK_BACK))

    def _refusal(self, failure: Exception) -> Exception:
        if isinstance(failure, CommitFailedError):
            return Overtaken(
                f"{self._place.address} was changed by somebody else while this batch was written ({failure}): "
                "let only one run write to a table"
            )
        return failure


def _table(place: Place) -> DeltaTable | None:
    try:
        return DeltaTable(place.address, storage_options=dict(place.options))
    except TableNotFoundError:
        return None


def _origin(place: Place, table: DeltaTable) -> Origin:
    try:
        facts = json.loads(table.metadata().description or "")
        return Origin(facts["topic"], facts["topic_id"])
    except (ValueError, KeyError, TypeError):
        raise TableRefused(
            f"the table in {place.address} was not made for a topic: choose another place with --to"
        ) from None


def _check(place: Place, table: DeltaTable, origin: Origin, by: By) -> None:
    found = _origin(place, table)
    if found.topic != origin.topic:
        raise TableRefused(
            f"{place.address} holds the topic {found.topic}, not {origin.topic}: choose another place with --to"
        )
    if found != origin:
        raise TableRefused(
            f"{place.address} holds an older topic {origin.topic}: it was made anew since, or this is another cluster; "
            "choose another place with --to"
        )
    columns = [by.column] if by.column else []
    if table.metadata().partition_columns != columns:
        known = {each.column or "": each.value for each in By}
        now = known.get(",".join(table.metadata().partition_columns), "something else")
        raise TableRefused(f"{place.address} is cut by {now}, not by {by.value}: say --by {now}")


def _with_time(schema: pa.Schema, by: By) -> Schema:
    columns = [pa.field(each.name, each.type) for each in schema]
    if by.column is not None:
        columns.append(pa.field(by.column, pa.date32() if by is By.DAY else pa.string()))
    return Schema.from_arrow(pa.schema(columns))


def _new_columns(place: Place, table: DeltaTable, wanted: Schema) -> list[Field]:
    """Columns that are not there yet. Those that are must have the types that they had."""
    known = {each.name: each for each in table.schema().fields}
    for field in wanted.fields:
        if field.name in known and known[field.name].type != field.type:
            raise TableRefused(
                f"the column {field.name} of {place.address} is {known[field.name].type} and would become "
                f"{field.type}: choose another place with --to, which is filled from the beginning"
            )
    return [field for field in wanted.fields if field.name not in known]


def _added(file: Written, columns: Sequence[str]) -> AddAction:
    stats = {"numRecords": file.rows, "minValues": file.lowest, "maxValues": file.highest, "nullCount": {}}
    values: dict[str, str | None] = dict.fromkeys(columns, file.time)
    return AddAction(file.path, file.bytes, values, int(time.time() * 1000), True, json.dumps(stats))
