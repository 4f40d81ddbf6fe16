"""`penstock doctor` on clusters that run: silence where all is well, and what was planted where it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.cli.cluster_health import look_at_health
from penstock.client import node_metrics, quorum
from penstock.client.blocking import Client
from penstock.client.checkup import disks, gathering
from penstock.client.checkup.checks import diagnose
from penstock.client.checkup.gathering import gather
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.testing import Broker
from tests.cli.running import Result, Shell, Up

pytestmark = pytest.mark.slow

WINDOW = ("--window", "0.1")


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    """How full the disk of this machine is, is not what is tried here."""
    monkeypatch.setattr(disks, "FULL_SHARE", 2.0)


@pytest.fixture(scope="module")
def sick() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def examined(shell: Shell, bootstrap: str) -> tuple[Result, list[dict[str, Any]]]:
    done = shell("doctor", *WINDOW, "-o", "json", "-b", bootstrap)
    told = json.loads(done.out)
    assert told["healthy"] == (done.code == 0) == (not told["findings"])
    return done, told["findings"]


def test_a_cluster_that_is_well_is_left_in_peace(penstock: Shell) -> None:
    assert penstock("topic", "create", "well", "--partitions", "2").code == 0
    lines = b"".join(b"%d:%d\n" % (number, number) for number in range(600))
    assert penstock("produce", "well", "--key-separator", ":", stdin=lines).code == 0
    done = penstock("doctor", *WINDOW)
    assert (done.code, done.out) == (0, ""), done.out
    assert "nothing is wrong that" in done.err


def test_what_is_planted_is_found_with_its_fix(sick: Broker, shell: Shell) -> None:
    at = ("-b", sick.bootstrap)
    shell("topic", "create", "hot", "--partitions", "2", *at)
    lines = b"".join(b"%s:%d\n" % (b"ann" if number % 2 else b"%d" % number, number) for number in range(600))
    careless = ("--property", "enable.idempotence=false")
    assert shell("produce", "hot", "--key-separator", ":", *careless, *at, stdin=lines).code == 0
    fights = ("min.insync.replicas=2", "unclean.leader.election.enable=true", "retention.ms=1000")
    shell("topic", "create", "fights", *(word for each in fights for word in ("--config", each)), *at)
    done, found = examined(shell, sick.bootstrap)
    assert done.code == 1
    told = [(each["severity"], each["check"], each["about"]) for each in found]
    assert told == [
        ("critical", "settings", "topic fights"),
        ("warning", "settings", "topic fights"),
        ("warning", "settings", "topic fights"),
        ("warning", "hot-key", "topic hot"),
        ("warning", "no-idempotence", "topic hot"),
    ]
    for fix in (each["fix"] for each in found if each["check"] == "settings"):
        assert shell(*fix.split()[1:], *at).code == 0
    assert {each["check"] for each in examined(shell, sick.bootstrap)[1]} == {"hot-key", "no-idempotence"}
    shown = shell("doctor", *WINDOW, *at)
    assert shown.code == 1
    assert "warning: topic hot: the key 'ann' has 300 of the newest 600 records [hot-key]" in shown.out


def test_a_group_that_falls_behind(penstock: Shell, cluster: Any) -> None:
    """Records come between the looks, and it reads none."""
    penstock("topic", "create", "lagging")
    where = TopicPartition("lagging", 0)
    penstock("produce", "lagging", stdin=b"a\n" * 1000)
    with Client(cluster.bootstrap) as client:
        Groups(client).commit("slow", {where: 0})
        look = look_at_health(client)

        def rest() -> None:
            penstock("produce", "lagging", stdin=b"a\n" * 100)

        facts = gather(client, look.found, look.topics, look.brokers, {}, rest)
    (finding,) = [each for each in diagnose(facts) if each.about == "group slow"]
    assert "its lag grew from 1000 to 1300 with no members" in finding.evidence


def test_clocks_of_nodes_are_compared(monkeypatch: pytest.MonkeyPatch, shell: Shell, up: Up) -> None:
    def with_a_wrong_clock(lines: Any) -> Any:
        found = read(lines)
        return found | {node_metrics.CLOCK: {(): found[node_metrics.CLOCK][()] - 100}}

    assert examined(shell, up.bootstrap)[1] == []
    read = node_metrics.parse_metrics
    monkeypatch.setattr(node_metrics, "parse_metrics", with_a_wrong_clock)
    (finding,) = examined(shell, up.bootstrap)[1]
    assert (finding["check"], finding["about"]) == ("clock", "broker 1")
    assert "s behind the one here" in finding["evidence"]


def test_an_address_where_nobody_answers(sick: Broker) -> None:
    """As where it is advertised for a network that is not ours."""
    with Client(sick.bootstrap) as client:
        look = look_at_health(client)
        away = [broker._replace(port=1) for broker in look.brokers]
        facts = gather(client, look.found, look.topics, away, {}, lambda: None)
    (finding,) = [each for each in diagnose(facts) if each.check == "listener"]
    assert "advertises 127.0.0.1:1, where nobody answers from here (Connection refused)" in finding.evidence


def test_a_clock_is_only_wrong_where_the_time_of_reading_does_not_explain_it() -> None:
    clocks = (95.0, 100.0, 105.0, 110.0, 113.5)
    assert [node_metrics.ahead_ms(clock, 100, 110) for clock in clocks] == [-5000, 0, 0, 0, 3500]


def test_the_clock_of_kafkas_controller(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_a_wrong_clock(client: Client) -> quorum.Quorum:
        found = quorum.known_quorum(client)
        (voter,) = found.voters
        return found._replace(voters=(voter._replace(caught_up_ms=voter.caught_up_ms + 60_000),), observers=())

    with Client(cluster.bootstrap) as client:
        look = look_at_health(client)
        looked_at = (client, look.found, (), look.brokers, {}, lambda: None)
        before = gather(*looked_at).clocks_ms
        monkeypatch.setattr(gathering, "known_quorum", with_a_wrong_clock)
        after = gather(*looked_at).clocks_ms
    assert abs(before["controller 1"]) < 2_000
    assert 50_000 < after["controller 1"] <= 60_000


def test_metrics_are_read_as_they_are_written() -> None:
    lines = ["# HELP a b", 'a{x="1\\"\\n",y="2"} 3', 'a{x="1\\"\\n",y="3"} 4.5', "b 1e3 1700000000", "c NaN", "odd"]
    told = node_metrics.Told(0, node_metrics.parse_metrics(lines))
    assert told.by("a", "x") == {'1"\n': 7.5}
    assert (told.sum("a"), told.plain("b"), told.sum("nothing")) == (7.5, 1000, None)
