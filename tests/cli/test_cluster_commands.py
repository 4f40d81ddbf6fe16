"""Health, quorum, reassign, balance and decommission, on one broker of each kind; what needs several is elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.cluster_picture import names_text, own_last, rate_bytes
from penstock.cli.partition_map import print_map
from penstock.client import quorum as client_quorum
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import PartitionView, TopicPartition, TopicView
from penstock.client.quorum import Quorum
from penstock.core.base.errors import ErrorCode
from penstock.testing import Broker
from tests.cli.running import Shell
from tests.waiting import wait_until


def write(path: Path, *partitions: dict[str, object]) -> Path:
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return path


def test_a_cluster_that_is_well(penstock: Shell) -> None:
    penstock("topic", "create", "fit", "--partitions", "3")
    shown = penstock("cluster", "health")
    assert shown.code == 0
    (row,) = [line for line in shown.out.splitlines() if line.startswith("fit ")]
    assert row.split() == ["fit", "3", "●●●"]
    assert "the cluster is well" in shown.err
    told = json.loads(penstock("cluster", "health", "-o", "json").out)
    assert told["healthy"] is True
    assert (told["controller"], told["brokers"], told["offline"]) == (1, [1], [])
    assert told["voters"][0]["node"] == 1


def test_a_full_disk_is_told(penstock: Shell) -> None:
    with Broker({"penstock.disk.full.ratio": 0}) as broker:
        shown = penstock("cluster", "health", "--bootstrap", broker.bootstrap)
        told = json.loads(penstock("cluster", "health", "-o", "json", "--bootstrap", broker.bootstrap).out)
    assert shown.code == 1
    (line,) = [line for line in shown.out.splitlines() if line.startswith("disk full")]
    assert line.split() == ["disk", "full", "!", "broker", "1"]
    assert (told["healthy"], told["full"]) == (False, [1])


def test_a_cluster_without_a_controller_is_told_and_drawn(penstock: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(client: Client) -> Quorum:
        raise ClientError("the quorum: NOT_CONTROLLER", code=ErrorCode.NOT_CONTROLLER)

    penstock("topic", "create", "headless")
    wait_until(lambda: "headless" in penstock("topic", "list").out, what="the broker has heard of it")
    monkeypatch.setattr(client_quorum, "describe_quorum", fail)
    shown = penstock("cluster", "health")
    assert shown.code == 1
    assert "no controller answers" in shown.err
    assert "headless" in shown.out
    assert json.loads(penstock("cluster", "health", "-o", "json").out)["controller"] is None


def test_the_quorum(penstock: Shell) -> None:
    told = json.loads(penstock("cluster", "quorum", "-o", "json").out)
    assert told["leader"] == 1
    assert told["high_watermark"] > 0
    (voter,) = told["voters"]
    assert (voter["node"], voter["lag"]) == (1, 0)
    assert "leader" in penstock("cluster", "quorum").out


def test_features_are_shown_and_change(penstock: Shell) -> None:
    def levels() -> dict[str, int]:
        return {
            each["feature"]: each["level"] for each in json.loads(penstock("cluster", "features", "-o", "json").out)
        }

    before = levels()
    assert before["metadata.version"] > 0
    name, level = "transaction.version", before["transaction.version"]
    tried = penstock("cluster", "features", "--set", f"{name}={level - 1}", "--downgrade", "--dry-run")
    assert (tried.code, tried.err) == (0, f"{name} could be {level - 1}\n")
    assert levels() == before
    for other, down in ((level - 1, ("--downgrade",)), (level, ())):
        changed = penstock("cluster", "features", "--set", f"{name}={other}", *down)
        assert (changed.code, changed.err) == (0, f"{name} is {other}\n")
        wait_until(lambda other=other: levels()[name] == other, what="the broker has heard of it")  # type: ignore[misc]


@pytest.mark.parametrize(
    ("typed", "code", "message"),
    [
        (("features", "--set", "metadata.version=1"), 1, "metadata.version cannot be 1"),
        (("features", "--set", "transaction.version=0"), 1, "and 0 is lower"),
        (("features", "--set", "nonsense=1"), 1, "there is no feature nonsense"),
        (("features", "--set", "metadata.version=new"), 2, "'new' is no level of metadata.version"),
        (("features", "--set", "metadata.version"), 2, "is not KEY=VALUE"),
        (("add-voter", "2", "http://here:1"), 2, "is not an address"),
        (("add-voter", "1", "here:1"), 1, ""),
        (("remove-voter", "7"), 1, ""),
    ],
)
def test_levels_and_voters_that_cannot_be(penstock: Shell, typed: tuple[str, ...], code: int, message: str) -> None:
    failed = penstock("cluster", *typed)
    assert (failed.code, failed.out) == (code, "")
    assert message in failed.err
    assert len(failed.err.splitlines()) == 2


def test_fixed_voters_are_told_how_to_become_others(shell: Shell, penstock_broker: Broker) -> None:
    failed = shell("cluster", "remove-voter", "1", "--bootstrap", penstock_broker.bootstrap)
    assert failed.code == 1
    assert "kraft.version" in failed.err


def test_a_plan_is_checked_and_shown(penstock: Shell, tmp_path: Path) -> None:
    penstock("topic", "create", "moved")
    there = write(tmp_path / "there.json", {"topic": "moved", "partition": 0, "replicas": [1]})
    assert "nothing to move" in penstock("cluster", "reassign", "--file", there).err
    nowhere = write(tmp_path / "nowhere.json", {"topic": "moved", "partition": 0, "replicas": [9]})
    refused = penstock("cluster", "reassign", "--file", nowhere)
    assert refused.code == 1
    assert "broker 9" in refused.err
    unknown = write(tmp_path / "unknown.json", {"topic": "nobody", "partition": 0, "replicas": [1]})
    assert "nobody-0" in penstock("cluster", "reassign", "--file", unknown).err
    too_many = penstock("cluster", "reassign", "--topic", "moved", "--replication-factor", "2")
    assert too_many.code == 1
    assert "1 brokers cannot hold 2 copies of moved-0" in too_many.err
    assert penstock("cluster", "reassign", "--topic", "moved", "--to", "9").code == 2
    assert penstock("cluster", "reassign", "--topic", "moved").code == 2
    assert penstock("cluster", "reassign", "--topic", "moved", "--to", "1", "--throttle", "much").code == 2


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"partitions": [1]}',
        '{"partitions": [{"topic": "t", "partition": 0, "replicas": []}]}',
        '{"partitions": [{"topic": "t", "partition": "x", "replicas": [1]}]}',
        '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 1]}]}',
    ],
)
def test_what_is_no_plan_is_refused_in_one_line(penstock: Shell, tmp_path: Path, content: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(content)
    refused = penstock("cluster", "reassign", "--file", path)
    assert refused.code == 1
    assert len(refused.err.splitlines()) == 2
    assert "plan.json" in refused.err


def test_nothing_is_moving(penstock: Shell) -> None:
    assert json.loads(penstock("cluster", "reassign", "--list", "-o", "json").out) == []
    assert "nothing is moving" in penstock("cluster", "reassign", "--cancel", "--execute").err
    assert "nothing is moving" in penstock("cluster", "reassign").err


def test_one_broker_has_its_share(penstock: Shell) -> None:
    penstock("topic", "create", "shared", "--partitions", "4")
    balanced = penstock("cluster", "balance", "--execute")
    assert balanced.code == 0
    assert "every broker has its share" in balanced.err
    told = json.loads(penstock("cluster", "balance", "-o", "json").out)
    assert (told["version"], told["partitions"], told["elections"]) == (1, [], [])


def test_the_last_broker_stays(penstock: Shell) -> None:
    refused = penstock("cluster", "decommission", "1")
    assert refused.code == 1
    assert "the only one" in refused.err
    assert "the brokers are 1" in penstock("cluster", "decommission", "7").err


def test_rates_as_people_write_them() -> None:
    assert [rate_bytes(text) for text in ("0", "512", "10M", "1.5 KiB/s", "2gb", None)] == [
        None,
        512,
        10 << 20,
        1536,
        2 << 30,
        None,
    ]


def test_long_lists_are_cut() -> None:
    assert names_text([1, 2]) == "1, 2"
    assert names_text(range(12)).endswith("8, 9 and 2 more")


def test_what_people_made_is_named_before_what_the_cluster_keeps() -> None:
    places = [TopicPartition("__consumer_offsets", 0), TopicPartition("b", 1), TopicPartition("a", 0)]
    assert [str(where) for where in sorted(places, key=own_last)] == ["a-0", "b-1", "__consumer_offsets-0"]


def drawn(capsys: pytest.CaptureFixture[str], topics: list[TopicView], **options: object) -> list[str]:
    given: dict[str, object] = {"brokers": [1, 2], "alive": [1], "sick": {"sick"}, "rows_max": 3, **options}
    print_map(topics, **given)  # type: ignore[arg-type]  # the options above, but for some
    return capsys.readouterr().out.splitlines()


def wide(name: str, partitions: int) -> TopicView:
    views = tuple(PartitionView(each, 1, 0, (1, 2), (1,), ()) for each in range(partitions))
    return TopicView(name, b"", False, views)


def test_the_map_shows_the_sick_first_and_counts_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    lines = drawn(capsys, [wide(name, 2) for name in ("a", "b", "c", "sick", "z")])
    assert [line.split()[0] for line in lines[2:5]] == ["sick", "a", "b"]
    assert lines[2].split()[2:] == ["●●", "✗✗"]
    assert lines[-1].startswith("2 more topics")


def test_the_map_of_many_partitions_stays_narrow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = drawn(capsys, [wide("t", 500)])
    assert max(map(len, lines)) <= 80
    assert sum(line.count("●") for line in lines[:-1]) == 500
    assert len(lines) < 40
