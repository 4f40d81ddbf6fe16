"""What commands show where nodes are away: what is known is shown, what is not is named, and nobody waits for long."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Shell, Up, running
from tests.ports import free_base_port
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

AWAY = 2
TIMEOUT = ("--timeout", "2")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Three nodes, of which one was killed, and a topic of which each of them has its own part."""
    options = ("--nodes", "3", "--set", "offsets.topic.num.partitions=3")
    with running(tmp_path_factory.mktemp("away") / "data", *options, port=free_base_port(3)) as up:
        yield up


@pytest.fixture
def penstock(shell: Shell, cluster: Up, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP", ",".join(f"127.0.0.1:{cluster.port + each}" for each in range(3)))
    return shell


def leaders(penstock: Shell) -> dict[int, int | None]:
    told = json.loads(penstock("topic", "describe", "alone", "-o", "json").out)
    return {each["partition"]: each["leader"] for each in told["partitions"]}


def kill(cluster: Up, number: int) -> None:
    os.kill(int((cluster.folder / f"node-{number}" / "pid").read_text()), signal.SIGKILL)


@pytest.mark.client
def test_a_node_is_away(penstock: Shell, cluster: Up, tmp_path: Path) -> None:
    assert penstock("topic", "create", "alone", "--partitions", "3", "--replication-factor", "1").code == 0
    gone = next(number for number, leader in leaders(penstock).items() if leader == AWAY)
    for number in range(3):
        (tmp_path / "lines").write_text(f"{number}\n")
        assert penstock("produce", "alone", tmp_path / "lines", "-p", str(number)).code == 0
    here = sorted({"0", "1", "2"} - {str(gone)})
    kill(cluster, AWAY)
    wait_until(lambda: leaders(penstock)[gone] is None, what="its death is known")

    read = penstock("consume", "alone", *TIMEOUT)
    assert (read.code, sorted(read.out.split())) == (1, here)
    assert f"nobody leads alone-{gone}: nothing is read from there" in read.err
    grouped = penstock("consume", "alone", "--group", "readers", *TIMEOUT)
    assert (grouped.code, sorted(grouped.out.split())) == (1, here)
    assert f"nobody answers for alone-{gone}: nothing is read from there" in grouped.err
    offsets = penstock("topic", "offsets", "alone", "-o", "json", *TIMEOUT)
    assert sorted(str(each["partition"]) for each in json.loads(offsets.out)) == here
    assert f"nobody leads alone-{gone}: nothing is known from there" in offsets.err
    assert "alone" in penstock("topic", "list", *TIMEOUT).out
    listed = penstock("group", "list", "-o", "json", *TIMEOUT)
    assert [each["group"] for each in json.loads(listed.out)] == ["readers"]


def test_a_majority_is_away(penstock: Shell, cluster: Up) -> None:
    """Whoever is left has no controller, who would tell it that others are away."""
    for number in (AWAY, 3):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            kill(cluster, number)
    wait_until(lambda: penstock("cluster", "quorum", *TIMEOUT).code != 0, what="whoever led has missed the others")
    nobody = penstock("cluster", "quorum", *TIMEOUT)
    assert (nobody.code, nobody.out) == (1, "")
    assert nobody.err.splitlines() == [
        "penstock: no controller answers",
        "  a majority of them must run: see `penstock cluster health`",
    ]
    refused = penstock("topic", "create", "later", *TIMEOUT)
    assert refused.code == 1
    assert "`penstock cluster health`" in refused.err.splitlines()[1]
    for what in ("group", "txn"):
        listed = penstock(what, "list", *TIMEOUT)
        assert listed.code == 0
        assert "no answer from broker" in listed.err
    health = penstock("cluster", "health", *TIMEOUT)
    assert health.code == 1
    assert "there is no quorum" in health.err
