"""`penstock storage import`: what it takes, from where, and what it refuses. Our own folders stand in for Kafka's here:
the formats are the same, and `test_with_kafka` has the real ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.transactional import TransactionalProducer
from penstock.client.transactions import Transactions
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.storage import decode_meta
from penstock.core.raft.history import VoterHistory
from penstock.testing import Broker
from tests.cli.running import Result, Shell
from tests.formats.records import Digest, digest, read_all

pytestmark = [pytest.mark.slow, pytest.mark.client]

RECORDS = 12
SEGMENT_BYTES = 1 << 20


def write(broker: Broker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number + bytes(SEGMENT_BYTES // 5), partition=number % 2)
        assert producer.flush(20) == 0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Digest]]:
    """A folder with a topic of two partitions, several segments each."""
    folder = tmp_path_factory.mktemp("source") / "data"
    with Broker({"log.segment.bytes": SEGMENT_BYTES}, folder=folder) as broker:
        broker.create_topic("t", 2, retention_ms=-1)
        write(broker, "t")
        digests = [digest(broker.bootstrap, "t", index) for index in (0, 1)]
    return folder, digests


@pytest.fixture
def source(made: tuple[Path, list[Digest]], tmp_path: Path) -> Path:
    return shutil.copytree(made[0], tmp_path / "source")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target"


def import_from(shell: Shell, target: Path, *sources: Path, options: tuple[str, ...] = ()) -> Result:
    dirs = [argument for source in sources for argument in ("--kafka-log-dir", source)]
    return shell("storage", "import", *dirs, "--data-dir", target, *options)


def read_from(target: Path) -> list[Digest]:
    with Broker(folder=target / "node-1") as broker:
        return [digest(broker.bootstrap, "t", index) for index in (0, 1)]


def test_a_folder_is_taken_over(shell: Shell, source: Path, target: Path, made: tuple[Path, list[Digest]]) -> None:
    done = import_from(shell, target, source, options=("-o", "json"))
    assert done.code == 0, done.err
    rows = [(row["topic"], row["partitions"], row["from"]) for row in json.loads(done.out)]
    assert ("t", 2, str(source)) in rows
    assert f"penstock up --data-dir {target}" in done.err
    before, after = (decode_meta((each / "meta.properties").read_bytes()) for each in (source, target / "node-1"))
    assert (after.cluster_id, after.node_id) == (before.cluster_id, 1)
    assert after.directory_id != before.directory_id
    assert read_from(target) == made[1]


def test_a_dry_run_only_says(shell: Shell, source: Path, target: Path) -> None:
    done = import_from(shell, target, source, options=("--dry-run",))
    assert done.code == 0
    assert "nothing was done" in done.err
    assert not target.exists()


def test_links_share_what_is_closed(shell: Shell, source: Path, target: Path, made: tuple[Path, list[Digest]]) -> None:
    assert import_from(shell, target, source, options=("--link",)).code == 0
    *closed, active = sorted(path.name for path in (source / "t-0").glob("*.log"))
    assert closed
    for name in closed:
        assert (target / "node-1/t-0" / name).samefile(source / "t-0" / name)
    for path in (target / "node-1").rglob("*"):
        if path.is_file() and path.name not in closed:
            assert path.stat().st_nlink == 1, path
    before = (source / "t-0" / active).read_bytes()
    with Broker(folder=target / "node-1") as broker:
        write(broker, "t")
    assert (source / "t-0" / active).read_bytes() == before


def test_what_was_not_stopped_cleanly_is_recovered(
    shell: Shell, source: Path, target: Path, made: tuple[Path, list[Digest]]
) -> None:
    (source / ".kafka_cleanshutdown").unlink()
    (source / "recovery-point-offset-checkpoint").unlink()
    with max((source / "t-0").glob("*.log")).open("ab") as torn:
        torn.write(b"half a batch")
    done = import_from(shell, target, source, options=("--link",))
    assert "was not stopped cleanly" in done.err
    assert not any(path.stat().st_nlink > 1 for path in (target / "node-1/t-0").iterdir()), "all of it may be cut"
    assert read_from(target) == made[1]


def test_several_folders_of_a_node(
    shell: Shell, source: Path, target: Path, tmp_path: Path, made: tuple[Path, list[Digest]]
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    shutil.copy(source / "meta.properties", second)
    shutil.copy(source / ".kafka_cleanshutdown", second)
    shutil.move(source / "t-1", second / "t-1")
    alone = import_from(shell, target, source)
    assert alone.code == 1
    assert "no copy of t-1 is given" in alone.err
    assert import_from(shell, target, source, second).code == 0
    assert read_from(target) == made[1]


def test_a_copy_that_was_not_in_sync_is_not_enough(shell: Shell, source: Path, target: Path) -> None:
    """The folder says that it is another node's, who has no copy that the metadata knows."""
    meta = (source / "meta.properties").read_text()
    (source / "meta.properties").write_text(meta.replace("node.id=1", "node.id=2"))
    refused = import_from(shell, target, source)
    assert refused.code == 1
    assert "surely complete" in refused.err
    assert "(node 1)" in refused.err


def test_a_folder_of_an_older_topic_of_that_name_does_not_count(shell: Shell, source: Path, target: Path) -> None:
    (source / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    assert "no copy of t-0 is given" in import_from(shell, target, source).err


@pytest.fixture
def running(source: Path) -> Iterator[Broker]:
    with Broker(folder=source) as broker:
        yield broker


@pytest.mark.usefixtures("running")
def test_a_broker_that_runs_is_left_alone(shell: Shell, source: Path, target: Path) -> None:
    refused = import_from(shell, target, source)
    assert (refused.code, "is in use" in refused.err) == (1, True)


def test_a_target_with_something_in_it_is_refused(shell: Shell, source: Path, target: Path) -> None:
    target.mkdir()
    (target / "mine").touch()
    assert import_from(shell, target, source).code == 1
    (target / "mine").unlink()
    (target / "node-1.importing").mkdir()
    assert "node-1.importing" in import_from(shell, target, source).err
    (target / "node-1.importing").rmdir()
    assert import_from(shell, target, source).code == 0
    assert "there is a cluster" in import_from(shell, target, source).err


def test_an_import_that_fails_leaves_nothing(
    shell: Shell, source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("penstock.cli.importing.run.write_metadata", fail)
    failed = import_from(shell, target, source)
    assert (failed.code, "No space" in failed.err) == (1, True)
    assert list(target.iterdir()) == []


def test_it_is_not_a_log_dir(shell: Shell, tmp_path: Path, target: Path) -> None:
    assert "is not a log dir" in import_from(shell, target, tmp_path).err
    assert "is not a log dir" in import_from(shell, target, tmp_path / "nowhere").err


def test_a_log_dir_without_metadata_needs_that_of_a_controller(shell: Shell, source: Path, target: Path) -> None:
    shutil.rmtree(source / "__cluster_metadata-0")
    assert "name the log dir of a controller" in import_from(shell, target, source).err


def test_records_of_an_older_format_are_refused(shell: Shell, source: Path, target: Path) -> None:
    path = min((source / "t-1").glob("*.log"))
    data = bytearray(path.read_bytes())
    data[16] = 1
    path.write_bytes(data)
    assert "records in format 1" in import_from(shell, target, source).err


def test_an_open_transaction_is_ended_here(shell: Shell, source: Path, target: Path) -> None:
    with Broker(folder=source) as broker, Client(broker.bootstrap) as client:
        producer = TransactionalProducer(client, "moving")
        producer.begin()
        producer.send("t", None, b"open", partition=0)
        producer.flush()
        before = Transactions(client).describe("moving")
    assert import_from(shell, target, source).code == 0
    with Broker(folder=target / "node-1") as broker, Client(broker.bootstrap) as client:
        transactions = Transactions(client)
        found = transactions.describe("moving")
        assert (found.state, found.partitions) == ("Ongoing", (TopicPartition("t", 0),))
        assert (found.producer_id, found.producer_epoch) == (before.producer_id, before.producer_epoch)
        transactions.terminate(found)
        assert b"open" not in [message.value() for message in read_all(broker.bootstrap, "t", 0)]


def settings_file(tmp_path: Path, **changes: str) -> Path:
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093",
        "log.dirs": str(tmp_path / "new"),
    }
    changed = lines | {key.replace("_", "."): value for key, value in changes.items()}
    BrokerSettings(changed)
    config = tmp_path / "server.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in changed.items()))
    return config


@pytest.mark.parametrize(
    "changes",
    [
        {"controller_quorum_voters": "1@127.0.0.1:19093,2@127.0.0.1:19094"},
        {"controller_quorum_bootstrap_servers": "127.0.0.1:19999"},
        {"process_roles": "broker", "listeners": "PLAINTEXT://127.0.0.1:19092", "controller_quorum_voters": "2@h:1"},
    ],
)
def test_a_node_that_is_not_all_of_its_cluster_is_refused(
    shell: Shell, source: Path, tmp_path: Path, changes: dict[str, str]
) -> None:
    refused = shell("storage", "import", "--kafka-log-dir", source, "--config", settings_file(tmp_path, **changes))
    assert "all of its cluster" in refused.err


def test_the_voter_is_kept_where_the_settings_say(shell: Shell, source: Path, tmp_path: Path) -> None:
    """Without `controller.quorum.voters` it is in the metadata, so that others can become voters."""
    for number, changes in enumerate(({}, {"controller_quorum_voters": "1@127.0.0.1:19093"})):
        folder = tmp_path / str(number)
        config = settings_file(tmp_path, log_dirs=str(folder), **changes)
        assert shell("storage", "import", "--kafka-log-dir", source, "--config", config).code == 0
        (snapshot,) = (folder / "__cluster_metadata-0").glob("*.checkpoint")
        history = VoterHistory()
        history.load_snapshot(int(snapshot.name[:20]), snapshot.read_bytes())
        assert (history.kraft_version, list(history.last.ids)) == ((0, []) if changes else (1, [1]))


def test_a_place_must_be_named(shell: Shell, source: Path) -> None:
    assert "either --config FILE" in shell("storage", "import", "--kafka-log-dir", source).err
