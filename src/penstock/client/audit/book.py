"""The book of an auditor: what was counted, in a file of its own. It is not in the cluster that it is held against.

SQLite keeps a run whole: a run that dies has counted nothing. A topic is known by its id, so one that was deleted and
made anew under its name begins anew.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from penstock.client.audit.spans import Span
from penstock.core.base.errors import PenstockError

VERSION: Final = 1
_TABLES: Final = """
create table spans (
    topic text, topic_id text, partition integer, first integer, "end" integer, minute integer, records integer,
    batches integer, bytes integer, identity integer, content integer, packing integer,
    primary key (topic, topic_id, partition, first)
) without rowid;
create table runs (at_ms integer primary key, facts text);
"""


class Book:
    """Open until it is left. Who makes it writes; what a run wrote is kept when it says so."""

    def __init__(self, path: Path, *, is_made: bool = True) -> None:
        if not is_made and not path.exists():
            raise PenstockError(f"there is no book at {path}; `penstock audit run --book {path}` begins one")
        try:
            self._db = sqlite3.connect(path, timeout=0, isolation_level=None)
            self._begin(path)
            if is_made:
                # Two runs at once would count the same twice.
                self._db.execute("begin immediate")
        except sqlite3.OperationalError as failure:
            raise PenstockError(f"the book {path} cannot be written: {failure}; does another audit run?") from None
        except sqlite3.Error as failure:
            raise PenstockError(f"{path} is no book of an audit: {failure}") from None

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def spans(self, topic: str, topic_id: str, partition: int) -> list[Span]:
        """What was counted of a partition, in the order of its log."""
        asked = "select * from spans where topic = ? and topic_id = ? and partition = ? order by first"
        return [Span(*row[3:]) for row in self._db.execute(asked, (topic, topic_id, partition))]

    def add(self, topic: str, topic_id: str, partition: int, spans: Iterable[Span]) -> None:
        rows = ((topic, topic_id, partition, *span) for span in spans)
        self._db.executemany(f"insert or replace into spans values ({', '.join('?' * 12)})", rows)

    def forget(self, topic: str, topic_id: str, partition: int, before: int) -> None:
        """What has expired."""
        asked = 'delete from spans where topic = ? and topic_id = ? and partition = ? and "end" <= ?'
        self._db.execute(asked, (topic, topic_id, partition, before))

    def keep(self, at_ms: int, facts: dict[str, Any]) -> None:
        """End a run: its counts and its verdict are in the book together."""
        self._db.execute("insert or replace into runs values (?, ?)", (at_ms, json.dumps(facts)))
        self._db.execute("commit")

    def newest(self) -> dict[str, Any] | None:
        row = self._db.execute("select facts from runs order by at_ms desc limit 1").fetchone()
        found: dict[str, Any] | None = None if row is None else json.loads(row[0])
        return found

    def minutes(self) -> Iterator[tuple[str, int, int]]:
        """Topic, minute and records."""
        asked = "select topic, minute, sum(records) from spans group by topic, minute order by topic, minute"
        yield from self._db.execute(asked)

    def _begin(self, path: Path) -> None:
        (version,) = self._db.execute("pragma user_version").fetchone()
        if version == 0:
            self._db.executescript(f"begin; {_TABLES} pragma user_version = {VERSION}; commit;")
        elif version != VERSION:
            raise PenstockError(f"{path} is of another version of Penstock: {version}, not {VERSION}")
