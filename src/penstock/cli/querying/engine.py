"""DuckDB, shut in: it sees the tables that it is given, and neither files nor the network nor variables of ours.

Its memory has a bound, and it writes nothing to a disk. What it complains of becomes one line, with the place in the
statement below.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from penstock.cli.talk import Refused

T = TypeVar("T")

ROWS_AT_A_TIME: Final = 1_000
_KIND = re.compile(r"^[A-Z][A-Za-z -]* Error: ")
_PLACE = re.compile(r"^LINE \d+: .*\n *\^+", re.MULTILINE)
_CANDIDATES = re.compile(r"^(?:Candidate bindings: |Did you mean ).*", re.MULTILINE)
_OFFSET = re.compile(r'(?<!")\boffset\b(?!")', re.IGNORECASE)
_NO_FILES: Final = "a query sees neither files nor the network; --files lets it"


def require_duckdb() -> None:
    if any(importlib.util.find_spec(name) is None for name in ("duckdb", "pyarrow")):
        raise Refused("queries are answered by DuckDB, which is not installed", "pip install 'penstock[query]'")


class Engine:
    """One database in memory, for one query."""

    def __init__(self, memory: str, *, files: bool) -> None:
        import duckdb

        shut: dict[str, Any] = {
            "enable_external_access": files,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "temp_directory": "",
        }
        # While DuckDB works no ctrl-c is heard in its thread, so that it has one of its own.
        self._thread = ThreadPoolExecutor(1)
        self._connection = duckdb.connect(":memory:", config=shut)
        # What went wrong in what a table reads from; DuckDB would only tell its text.
        self.failures: list[Exception] = []
        with self._complaining():
            self._connection.execute(f"SET memory_limit = {literal(memory)}")
            self._connection.execute("SET lock_configuration = true")

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown()
        self._connection.close()

    def check(self, text: str) -> None:
        """Whether it can be parsed."""
        with self._complaining():
            self._connection.extract_statements(text)

    def table(self, name: str, source: object) -> None:
        """A table that is read from Arrow, each time anew."""
        self._connection.register(name, source)

    def run(self, statement: str, values: Sequence[Any] = ()) -> None:
        self.rows(statement, values)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._complaining():
            return self._work(lambda: self._connection.execute(statement, list(values)).fetchall())

    def answer(self, statement: str) -> tuple[list[str], Iterator[list[tuple[Any, ...]]]]:
        """The names of the columns, and the rows, some at a time."""
        with self._complaining():
            result = self._work(lambda: self._connection.execute(statement))
            return [column[0] for column in result.description or ()], self._pages(result)

    def _pages(self, result: Any) -> Iterator[list[tuple[Any, ...]]]:
        while True:
            with self._complaining():
                rows = self._work(lambda: result.fetchmany(ROWS_AT_A_TIME))
            if not rows:
                return
            yield rows

    def _work(self, work: Callable[[], T]) -> T:
        working = self._thread.submit(work)
        try:
            return working.result()
        except KeyboardInterrupt:
            self._connection.interrupt()
            raise

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as complaint:
            if self.failures:
                raise self.failures[0] from None
            raise refusal(str(complaint)) from None


def refusal(complaint: str) -> Refused:
    """DuckDB's words in one line; the hint has what could be meant, and the place."""
    message = _KIND.sub("", complaint.strip().split("\n")[0])
    if message.startswith("could not allocate") or "Out of Memory" in complaint:
        return Refused("the answer needs more memory than it may take", "narrow it with --from, or see --memory")
    hints = [match[0] for match in (_CANDIDATES.search(complaint), _PLACE.search(complaint)) if match]
    if "disabled by configuration" in message:
        hints.insert(0, _NO_FILES)
    if message.startswith("syntax error") and _OFFSET.search(complaint):
        hints.insert(0, 'SQL has a meaning for this word: write "offset" in quotes')
    return Refused(message, "\n".join(hints).replace("\n", "\n  ") or None)


def quoted(name: str) -> str:
    """A name as SQL takes any."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
