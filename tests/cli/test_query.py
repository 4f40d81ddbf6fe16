"""`penstock query`: SQL over topics gives what was written, no more, and says in a line why it cannot."""

import csv
import json
import os
import signal
import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from penstock.cli.querying.engine import Engine
from penstock.cli.querying.fields import Field, fields_of
from penstock.cli.querying.statement import Table, read_statement
from penstock.cli.talk import Refused
from penstock.client.blocking import Client
from penstock.client.transactional import TransactionalProducer
from tests.cli.running import TIMEOUT_S, Shell, Up
from tests.kafka_peer import KafkaPeer
from tests.waiting import wait_until

ORDERS = [{"city": f"c{number % 3}", "amount": number, "timestamp": "then"} for number in range(30)]


@pytest.fixture
def orders(penstock: Shell) -> str:
    """Thirty orders over three partitions."""
    if "query.orders" not in penstock("topic", "list").out:
        penstock("topic", "create", "query.orders", "--partitions", "3")
        _write(penstock, "query.orders", ORDERS)
    return '"query.orders"'


def _write(penstock: Shell, topic: str, values: list[Any]) -> None:
    lines = [
        json.dumps({"key": f"k{number}", "value": json.dumps(value), "headers": [{"key": "h", "value": "x"}]})
        for number, value in enumerate(values)
    ]
    assert penstock("produce", topic, "--input", "json", stdin="\n".join(lines).encode()).code == 0


def _rows(penstock: Shell, *arguments: str) -> list[dict[str, Any]]:
    answered = penstock("query", *arguments, "-o", "json")
    assert (answered.code, answered.err) == (0, "")
    return [json.loads(line) for line in answered.out.splitlines()]


def test_groups_are_counted_and_summed(penstock: Shell, orders: str) -> None:
    asked = f"select city, count(*) n, sum(amount) total from {orders} group by 1 order by 1"
    expected = [{"city": f"c{rest}", "n": 10, "total": sum(range(rest, 30, 3))} for rest in range(3)]
    assert _rows(penstock, asked) == expected
    table = penstock("query", asked).out.splitlines()
    assert [line.split() for line in (table[0], *table[2:])] == [
        ["city", "n", "total"],
        *([str(cell) for cell in row.values()] for row in expected),
    ]
    found = list(csv.DictReader(StringIO(penstock("query", asked, "-o", "csv").out)))
    assert [int(row["total"]) for row in found] == [row["total"] for row in expected]


def test_a_record_has_its_own_columns_and_its_fields(penstock: Shell, orders: str) -> None:
    rows = _rows(penstock, f"select * from {orders} order by amount")
    assert [row["key"] for row in rows] == [f"k{number}" for number in range(30)]
    assert {row["partition"] for row in rows} == {0, 1, 2}
    assert all(json.loads(row["value"]) == order for row, order in zip(rows, ORDERS, strict=True))
    assert rows[0]["headers"] == [{"key": "h", "value": "x"}]
    assert rows[0]["value_timestamp"] == "then", "the record has a timestamp of its own"
    assert rows[0]["timestamp"] > "2020"


def test_a_name_with_dots_needs_no_quotes_and_a_topic_may_be_read_twice(penstock: Shell, orders: str) -> None:
    asked = "select a.city, count(*) n from query.orders a join query.orders b using (city) group by 1 order by 1"
    assert [row["n"] for row in _rows(penstock, asked)] == [100, 100, 100]


def test_a_range_is_read_and_nothing_beside_it(penstock: Shell, orders: str) -> None:
    assert _rows(penstock, f"select count(*) n from {orders}", "--from", "-2") == [{"n": 6}]
    assert _rows(penstock, f'select max("offset") m from {orders}', "--to", "3") == [{"m": 2}]
    assert _rows(penstock, f"select count(*) n from {orders}", "--from", "1h", "--to", "@1") == [{"n": 0}]


def test_what_is_open_or_was_aborted_is_not_counted(penstock: Shell, cluster: Up | KafkaPeer) -> None:
    asked = 'select count(*) n, sum(a) s from "query-txn"'
    penstock("topic", "create", "query-txn")
    penstock("produce", "query-txn", stdin=b'{"a": 1}\n')
    with Client(cluster.bootstrap) as client:
        producer = TransactionalProducer(client, "query-txn")
        for number, end in ((2, producer.commit), (4, producer.abort)):
            producer.begin()
            producer.send("query-txn", None, json.dumps({"a": number}).encode(), partition=0)
            producer.flush()
            before = _rows(penstock, asked)
            end()
            assert before == [{"n": number // 2, "s": [1, 3][number // 4]}]
    wait_until(lambda: _rows(penstock, asked) == [{"n": 2, "s": 3}])
    assert len(penstock("consume", "query-txn").out.splitlines()) == 3


def test_bytes_and_nothing_are_values_too(penstock: Shell) -> None:
    lines = [{"key": "a", "value": None}, {"key": None, "value_base64": "/w=="}, {"key": "b", "value": "plain"}]
    penstock("produce", "query-odd", "--input", "json", stdin="\n".join(map(json.dumps, lines)).encode())
    rows = _rows(penstock, 'select key, value from "query-odd" order by "offset"')
    assert rows == [{"key": "a", "value": None}, {"key": None, "value": "\\xff"}, {"key": "b", "value": "plain"}]


def test_a_value_that_the_sample_did_not_have_is_no_wrong_sum(penstock: Shell) -> None:
    values = [{"a": number} for number in range(9)]
    _write(penstock, "query-mixed", [*values, {"a": 0.5}, *values])
    failed = penstock("query", 'select sum(a) from "query-mixed"', "--sample", "4")
    assert (failed.code, failed.out) == (1, "")
    assert "field a is BIGINT in the sample, and somewhere it is DOUBLE" in failed.err
    assert _rows(penstock, 'select sum(a) s from "query-mixed"') == [{"s": 72.5}]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("select city form query.orders", 'syntax error at or near "query"'),
        ("select citty from query.orders", 'Referenced column "citty" not found'),
        ("select city from nowhere", "topic nowhere: UNKNOWN_TOPIC_OR_PARTITION"),
        ("select offset from query.orders", 'write "offset" in quotes'),
        ("select city from a.query.orders", 'write the topic\'s name as "a.query.orders"'),
        ("select 1; select 2", "a query is one statement"),
        ("copy (select 1) to 'stolen.csv'", "a query is one SELECT"),
        ("attach 'stolen.db'", "a query is one SELECT"),
        ("set memory_limit='9GB'", "a query is one SELECT"),
        ("select * from read_text('/etc/passwd')", "--files lets it"),
        ("select * from read_csv('http://127.0.0.1:1/x')", "penstock: "),
        ("select * from '/etc/passwd'", "topic /etc/passwd: "),
    ],
)
def test_what_cannot_be_answered_is_one_line_with_its_place(
    asked: str, said: str, penstock: Shell, orders: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failed = penstock("query", asked)
    assert (failed.code, failed.out) == (1, "")
    assert said in failed.err
    lines = failed.err.splitlines()
    assert lines[0].startswith("penstock: ")
    assert all(line.startswith("  ") for line in lines[1:])
    assert not list(tmp_path.iterdir())


def test_the_place_is_below_the_word(penstock: Shell, orders: str) -> None:
    place, mark = penstock("query", f"select citty from {orders}").err.splitlines()[-2:]
    assert place[mark.index("^") :].startswith("citty")


def test_memory_has_a_bound(penstock: Shell) -> None:
    failed = penstock("query", "select range from range(100000000) group by 1", "--memory", "50MB")
    assert (failed.code, failed.out) == (1, "")
    assert "the answer needs more memory than it may take" in failed.err


def test_a_folder_of_parquet_is_a_table_beside_a_topic(penstock: Shell, orders: str, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"city": ["c1", "c2"], "name": ["One", "Two"]}), tmp_path / "cities.parquet")
    asked = f"select name, count(*) n from {orders} join cities using (city) group by 1 order by 1"
    assert _rows(penstock, asked, "--table", f"cities={tmp_path}") == [
        {"name": "One", "n": 10},
        {"name": "Two", "n": 10},
    ]
    failed = penstock("query", "select * from t", "--table", f"t={tmp_path / 'away'}")
    assert "holds no table" in failed.err


def test_ctrl_c_ends_what_duckdb_is_at() -> None:
    working, interrupt = threading.Event(), signal.getsignal(signal.SIGINT)

    def rows() -> Iterator[Any]:
        working.set()
        while True:
            yield pa.record_batch([[1]], names=["a"])

    class Endless:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            schema = pa.schema([("a", pa.int64())])
            return pa.RecordBatchReader.from_batches(schema, rows()).__arrow_c_stream__(requested_schema)

    def press() -> None:
        assert working.wait(TIMEOUT_S)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Engine("100MB", files=False) as engine:
            engine.table("endless", Endless())
            presser.start()
            with pytest.raises(KeyboardInterrupt):
                engine.rows("select count(*) from endless")
    finally:
        presser.join(TIMEOUT_S)
        signal.signal(signal.SIGINT, interrupt)


def test_fields_have_the_types_of_the_sample() -> None:
    values = [
        '{"a": 1, "b": 1, "c": "x", "d": true, "e": null}',
        '{"b": 1.5, "f": [1], "g": 1}',
        '{"g": "x"}',
        "no",
        "[]",
    ]
    types = {field.name: field.type for field in fields_of(values)}
    assert types == {
        "a": "BIGINT",
        "b": "DOUBLE",
        "c": "VARCHAR",
        "d": "BOOLEAN",
        "e": "JSON",
        "f": "JSON",
        "g": "JSON",
    }


def test_names_that_sql_takes_for_the_same_are_one_column() -> None:
    found = fields_of(['{"City": 1, "city": 2, "Offset": 3}'])
    assert found == [Field("City", "City", "BIGINT"), Field("Offset", "value_Offset", "BIGINT")]


@pytest.mark.parametrize(
    ("text", "tables", "wanted"),
    [
        ("with c as (select 1) select k.key from a k, c, x.y", [Table("", "a"), Table("x", "y")], {"key"}),
        ("select a from t where exists (select * from u)", [Table("", "t"), Table("", "u")], None),
        ("select t from t", [Table("", "t")], None),
        ("select count(*) from t join u using (key)", [Table("", "t"), Table("", "u")], {"key"}),
        ("from t natural join u", [Table("", "t"), Table("", "u")], None),
    ],
)
def test_a_statement_says_what_it_reads(text: str, tables: list[Table], wanted: set[str] | None) -> None:
    with Engine("100MB", files=False) as engine:
        statement = read_statement(engine, text)
    assert sorted(statement.tables) == sorted(tables)
    assert statement.wants_all == (wanted is None)
    assert wanted is None or (statement.wants("key") and not statement.wants("headers"))


def test_a_settings_file_of_the_engine_is_not_changed_by_a_statement() -> None:
    with Engine("100MB", files=False) as engine, pytest.raises(Refused, match="locked"):
        engine.run("SET enable_external_access = true")
