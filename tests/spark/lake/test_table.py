"""A table takes each row once, whoever writes it again, and refuses what is not its topic's. Without Spark."""

import pickle
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from penstock.spark.lake import delta
from penstock.spark.lake.delta import Overtaken, Table, TableRefused
from penstock.spark.lake.files import OPEN_FILES_MAX, Told, WriteFiles, key_schema
from penstock.spark.lake.places import By, Origin, Place
from tests.kafka_peer import free_ports
from tests.waiting import wait_until

ORDERS = Origin("orders", "0a")
SCHEMA = key_schema(is_decoded=False).append(pa.field("value", pa.binary()))
DAY_S = 86_400


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    is_bucket = getattr(request, "param", "folder") == "bucket"
    return request.getfixturevalue("bucket") if is_bucket else Place(str(tmp_path / "table"))


@pytest.fixture
def bucket() -> Iterator[Place]:
    """A server of S3's API, in a process of its own: whoever writes a file keeps the interpreter until it is there."""
    import boto3

    (port,) = free_ports(1)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: answers(port), timeout_s=60, what="the store")
        access = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nothing"}
        endpoint = f"http://127.0.0.1:{port}"
        boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **access).create_bucket(Bucket="shop")
        options = {name.upper(): value for name, value in access.items()}
        options |= {"AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
        yield Place("s3://shop/orders", options)
    finally:
        server.terminate()
        server.wait()


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


everywhere = pytest.mark.parametrize("place", ["folder", pytest.param("bucket", marks=pytest.mark.slow)], indirect=True)
"""In a folder, and in a bucket."""


def opened(place: Place, schema: pa.Schema = SCHEMA, by: By = By.DAY, origin: Origin = ORDERS) -> Table:
    return Table.made(place, origin, schema, by)


def rows(partition: int, offsets: Iterable[int], seconds_apart: int = 1, schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    found = [
        {
            "partition": partition,
            "offset": offset,
            "timestamp": datetime.fromtimestamp(offset * seconds_apart, UTC),
            "value": b"v%d" % offset,
            "city": "Pisa",
        }
        for offset in offsets
    ]
    return pa.RecordBatch.from_pylist(found, schema)


def write(table: Table, place: Place, *batches: pa.RecordBatch, by: By = By.DAY) -> Told:
    """What a task of this table would tell."""
    task = WriteFiles(place, by, table.positions(range(4)))
    (told,) = task(iter(batches))
    found: Told = pickle.loads(told.column(0)[0].as_py())
    return found


def add(place: Place, *batches: pa.RecordBatch, by: By = By.DAY) -> None:
    table = opened(place, by=by)
    told = write(table, place, *batches, by=by)
    if told.files:
        table.commit(told.files, told.ends, {})


def lying(place: Place) -> DeltaTable:
    return DeltaTable(place.address, storage_options=dict(place.options))


def offsets_in(place: Place) -> list[tuple[int, int]]:
    found = lying(place).to_pyarrow_dataset().to_table(columns=["partition", "offset"]).to_pylist()
    return sorted((row["partition"], row["offset"]) for row in found)


@everywhere
def test_rows_that_come_again_are_there_once(place: Place) -> None:
    add(place, rows(0, range(10)), rows(1, range(5)))
    add(place, rows(0, range(10)), rows(1, range(5)))
    assert lying(place).version() == 1, "nothing new is no commit"
    add(place, rows(0, range(5, 15)))
    assert offsets_in(place) == [(0, n) for n in range(15)] + [(1, n) for n in range(5)]
    assert opened(place).positions(range(3)) == {0: 15, 1: 5}


@everywhere
def test_both_of_two_drivers_cannot_add_the_same(place: Place) -> None:
    first, second = opened(place), opened(place)
    told = [write(each, place, rows(0, range(10))) for each in (first, second)]
    second.commit(told[1].files, told[1].ends, {})
    with pytest.raises(Overtaken, match="let only one run write"):
        first.commit(told[0].files, told[0].ends, {})
    assert offsets_in(place) == [(0, n) for n in range(10)]


@everywhere
def test_a_commit_whose_answer_was_lost_counts(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    table = opened(place)
    told = write(table, place, rows(0, range(10)))
    commit = DeltaTable.create_write_transaction

    def lost(self: DeltaTable, *arguments: object, **options: object) -> None:
        commit(self, *arguments, **options)  # type: ignore[arg-type]
        raise DeltaError("the connection was closed")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", lost)
    table.commit(told.files, told.ends, {})
    assert len(offsets_in(place)) == 10


def test_a_commit_that_failed_is_not_taken_for_done(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    table = opened(place)
    told = write(table, place, rows(0, range(10)))

    def failing(*_: object, **__: object) -> None:
        raise DeltaError("the disk is full")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", failing)
    with pytest.raises(DeltaError, match="disk is full"):
        table.commit(told.files, told.ends, {})
    assert offsets_in(place) == []


def test_files_of_a_task_that_died_are_in_no_table(place: Place) -> None:
    table = opened(place)

    def dying() -> Iterable[pa.RecordBatch]:
        yield rows(0, range(10))
        raise OSError("killed")

    with pytest.raises(OSError, match="killed"):
        list(WriteFiles(place, By.DAY, {})(iter(dying())))
    write(table, place, rows(0, range(10)))
    assert offsets_in(place) == []
    add(place, rows(0, range(10)))
    assert len(offsets_in(place)) == 10


def test_few_files_are_open_however_many_days_there_are(place: Place) -> None:
    days = OPEN_FILES_MAX + 5
    add(place, rows(0, range(days), DAY_S), rows(0, range(days, 2 * days), DAY_S))
    assert len(offsets_in(place)) == 2 * days
    found = lying(place).to_pyarrow_dataset().to_table()
    assert all(row["_day"] == row["timestamp"].date() for row in found.to_pylist())


@pytest.mark.parametrize(
    ("by", "folders"), [(By.HOUR, {"_hour=1970-01-01-00", "_hour=1970-01-01-01"}), (By.NONE, set())]
)
def test_a_table_is_cut_as_was_said(place: Place, by: By, folders: set[str]) -> None:
    add(place, rows(0, range(4), 1800), by=by)
    assert {each.name for each in Path(place.address).iterdir() if "=" in each.name} == folders
    assert len(offsets_in(place)) == 4
    with pytest.raises(TableRefused, match=f"cut by {by.value}, not by day: say --by {by.value}"):
        opened(place)


def test_few_files_are_made_of_many_and_nothing_else_changes(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(4):
        add(place, rows(0, range(n * 5, n * 5 + 5)))
    assert not opened(place).compact(), "four files are few"
    monkeypatch.setattr(delta, "COMPACT_FILES_MIN", 4)
    assert opened(place).compact()
    lying(place).create_checkpoint()
    assert len(opened(place).files) == 1
    assert opened(place).positions([0]) == {0: 20}
    add(place, rows(0, range(20)))
    assert offsets_in(place) == [(0, n) for n in range(20)]


def test_columns_come_and_keep_their_types(place: Place) -> None:
    add(place, rows(0, range(3)))
    wider = SCHEMA.append(pa.field("city", pa.string()))
    table = opened(place, wider)
    told = write(table, place, rows(0, range(3, 5), schema=wider))
    table.commit(told.files, told.ends, {})
    cities = lying(place).to_pyarrow_dataset().to_table().column("city")
    assert sorted(cities.to_pylist(), key=str) == [None, None, None, "Pisa", "Pisa"]
    with pytest.raises(TableRefused, match=r"the column city .* would become"):
        opened(place, SCHEMA.append(pa.field("city", pa.int64())))


def test_a_query_that_goes_on_finds_its_table(place: Place) -> None:
    """Made anew, it would begin in the middle of its topic."""
    with pytest.raises(TableRefused, match="remove the checkpoint"):
        Table.made(place, ORDERS, SCHEMA, By.DAY, batch=3)
    Table.made(place, ORDERS, SCHEMA, By.DAY)
    assert Table.made(place, ORDERS, SCHEMA, By.DAY, batch=3).version == 0


def test_another_topic_is_refused(place: Place, tmp_path: Path) -> None:
    opened(place)
    with pytest.raises(TableRefused, match="holds the topic orders, not payments"):
        opened(place, origin=Origin("payments", "0b"))
    with pytest.raises(TableRefused, match="made anew since"):
        opened(place, origin=Origin("orders", "0c"))
    stranger = Place(str(tmp_path / "stranger"))
    DeltaTable.create(stranger.address, SCHEMA)
    with pytest.raises(TableRefused, match="not made for a topic"):
        opened(stranger)
