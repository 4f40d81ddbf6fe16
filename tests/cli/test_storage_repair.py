"""`penstock storage verify` and `repair` on the folder of a stopped node."""

import json
import shutil
from pathlib import Path

import pytest

from penstock.core.records.batch import iterate_headers
from penstock.shell.lock import FolderLock
from tests.cli.running import Shell
from tests.log.test_verifying import closed

FILE = f"{0:020d}.log"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Thirty batches in four files, of a node that was closed."""
    files = closed()
    for path in files.paths():
        target = tmp_path / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files.content(path))
    (tmp_path / "server.properties").write_text(
        "process.roles=broker,controller\nnode.id=4\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093\n"
        f"controller.quorum.voters=4@127.0.0.1:19093\nlog.dirs={tmp_path}/data\n"
    )
    return tmp_path / "data"


def damage(data: Path, partition: str = "orders-0") -> int:
    """Flip a bit in the third batch; gives where that begins."""
    path = data / partition / FILE
    content = bytearray(path.read_bytes())
    position = [position for position, _ in iterate_headers(bytes(content))][2]
    content[position + 80] ^= 1
    path.write_bytes(content)
    return position


def test_a_whole_folder(shell: Shell, data: Path) -> None:
    config = data.parent / "server.properties"
    done = shell("storage", "verify", "--config", config, "-o", "json")
    assert done.code == 0
    (facts,) = json.loads(done.out)
    assert (facts["partition"], facts["batches"], facts["damaged"], facts["damage"]) == ("orders-0", 30, 0, [])
    assert shell("storage", "repair", "orders-0", "--config", config, "--yes").err == "orders-0 is whole\n"


def test_a_partition_that_never_had_a_record(shell: Shell, data: Path) -> None:
    (data / "empty-0").mkdir()
    done = shell("storage", "verify", "--config", data.parent / "server.properties", "-o", "json")
    assert done.code == 0
    assert {each["partition"]: each["segments"] for each in json.loads(done.out)}["empty-0"] == 0


def test_damage_is_named_and_taken_out_when_a_person_says_so(shell: Shell, data: Path) -> None:
    config, position = data.parent / "server.properties", damage(data)
    found = shell("storage", "verify", "orders-0", "--config", config, "-o", "json")
    assert found.code == 1
    assert "penstock storage repair orders-0" in found.err
    ((bad,),) = [facts["damage"] for facts in json.loads(found.out)]
    assert (bad["position"], bad["first_offset"], bad["end_offset"]) == (position, 2, 3)
    before = (data / "orders-0" / FILE).read_bytes()
    asked = shell("storage", "repair", "orders-0", "--config", config)
    assert asked.code == 1
    assert "--yes" in asked.err
    assert "offsets 2 to 2 " in asked.err
    assert (data / "orders-0" / FILE).read_bytes() == before
    done = shell("storage", "repair", "orders-0", "--config", config, "--yes")
    assert done.code == 0
    kept = data / "orders-0" / f"{FILE}.{position}.damaged"
    assert f"kept in {kept}" in done.err
    assert kept.read_bytes() == before[position : position + bad["size_bytes"]]
    assert shell("storage", "verify", "--config", config).code == 0


def test_the_metadata_log_is_read_too(shell: Shell, data: Path) -> None:
    config, metadata = data.parent / "server.properties", "__cluster_metadata-0"
    shutil.copytree(data / "orders-0", data / metadata)
    whole = shell("storage", "verify", "--config", config, "-o", "json")
    assert (whole.code, [each["partition"] for each in json.loads(whole.out)]) == (0, ["orders-0", metadata])
    damage(data, metadata)
    found = shell("storage", "verify", metadata, "--config", config, "-o", "json")
    assert found.code == 1
    assert [(each["partition"], each["damaged"]) for each in json.loads(found.out)] == [(metadata, 1)]
    assert f"penstock storage repair {metadata}" in found.err


def test_a_folder_in_use_is_refused(shell: Shell, data: Path) -> None:
    lock = FolderLock(str(data))
    try:
        refused = shell("storage", "verify", "--config", data.parent / "server.properties")
    finally:
        lock.release()
    assert refused.code == 1
    assert "a node runs on" in refused.err


def test_a_partition_that_is_not_there_is_refused(shell: Shell, data: Path) -> None:
    refused = shell("storage", "verify", "orders-7", "--config", data.parent / "server.properties")
    assert refused.code == 1
    assert "there is no partition orders-7" in refused.err
