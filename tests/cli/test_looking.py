"""`penstock cluster health --wait` and `--watch`."""

from __future__ import annotations

import json

import pytest

from penstock.cli import cluster_health, looking
from penstock.cli.health_report import Look, complaint_of
from penstock.cli.looking import look_on, wait_for
from penstock.client.errors import ClientError, Unreachable
from penstock.client.health import assess
from penstock.client.metadata import NO_NODE, TopicPartition
from penstock.client.quorum import Quorum, Registered
from penstock.core.base.errors import ErrorCode
from penstock.testing import Broker
from tests.cli.running import Shell


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "LOOK_SECONDS", 0.01)


class Seen:
    """What is seen from look to look; an error is raised, and the last one stays."""

    def __init__(self, *seen: str | ClientError) -> None:
        self._seen = list(seen)

    def __call__(self) -> str:
        seen = self._seen.pop(0) if len(self._seen) > 1 else self._seen[0]
        if isinstance(seen, ClientError):
            raise seen
        return seen


def test_what_is_wrong_is_said_when_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    nobody = Unreachable("a:1", "refused")
    assert wait_for(Seen(nobody, "2 offline", "2 offline", "1 offline", ""), str, 30) == ""
    assert capsys.readouterr().err.splitlines() == [
        "waiting: no broker answers at a:1 (refused)",
        "waiting: 2 offline",
        "waiting: 1 offline",
    ]


def test_waiting_ends_with_what_is_wrong_then() -> None:
    assert wait_for(Seen("2 offline"), str, 0.05) == "2 offline"
    with pytest.raises(Unreachable):
        wait_for(Seen(Unreachable("a:1", "refused")), str, 0.05)


def test_what_does_not_pass_is_not_waited_for() -> None:
    forbidden = ClientError("no", code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(ClientError, match="no"):
        wait_for(Seen(forbidden), str, 30)
    with pytest.raises(ClientError, match="no"):
        look_on(Seen(forbidden), print, 30)


def test_watching_outlives_an_outage(capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []

    def show(seen: str) -> None:
        shown.append(seen)
        if seen == "c":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        look_on(Seen("a", Unreachable("a:1", "refused"), "b", "c"), show, 0.01)
    assert shown == ["a", "b", "c"]
    assert "no broker answers at a:1" in capsys.readouterr().err


def test_a_cluster_that_is_well_is_not_waited_for(penstock: Shell) -> None:
    waited = penstock("cluster", "health", "--wait", "-o", "json")
    assert (waited.code, waited.err) == (0, "")
    assert json.loads(waited.out)["healthy"] is True


def test_patience_ends_and_says_why(penstock: Shell) -> None:
    with Broker({"penstock.disk.full.ratio": 0}) as broker:
        waited = penstock("cluster", "health", "--wait", "--timeout", "0.3", "--bootstrap", broker.bootstrap)
    assert waited.code == 1
    assert waited.err.splitlines() == [
        "waiting: disk full: broker 1",
        "the cluster is not well: disk full: broker 1",
    ]


def test_who_is_ill_is_told_from_how_many() -> None:
    """Three numbers in one line: a broker, and two counts."""
    places = (TopicPartition("a", 0), TopicPartition("b", 1))
    brokers = [Registered(each, "h", 1, None, is_fenced=each < 3) for each in (1, 2, 3)]
    nobody = Quorum(NO_NODE, NO_NODE, NO_NODE, (), ())
    found = assess([], brokers, nobody, {}, {}, [])._replace(idle=(), offline=places, under_min=places[:1])
    assert complaint_of(Look(found, brokers, [], nobody)) == (
        "no controller answers; fenced: brokers 1, 2; 2 partitions offline; 1 partition under min in sync"
    )


def test_programs_get_a_line_for_each_look(penstock: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Look] = []
    really = cluster_health.facts_of

    def count(look: Look) -> dict[str, object]:
        looks.append(look)
        if len(looks) > 2:
            raise KeyboardInterrupt
        return really(look)

    monkeypatch.setattr(cluster_health, "facts_of", count)
    watched = penstock("cluster", "health", "--watch", "--interval", "0.01", "-o", "json")
    assert watched.code == 130
    assert [json.loads(line)["healthy"] for line in watched.out.splitlines()] == [True, True]


def test_one_of_both(penstock: Shell) -> None:
    assert penstock("cluster", "health", "--wait", "--watch").code == 2
    assert penstock("cluster", "health", "--watch", "--interval", "0").code == 2
