"""A file makes a cluster, an export of it makes the same one elsewhere, also where that is Apache Kafka."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.client.blocking import Client
from penstock.client.users import users
from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.testing import Broker
from tests.cli.running import TIMEOUT_S, Result, Shell, command
from tests.kafka_peer import KafkaPeer
from tests.registry.world import Rest, record, registry

SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
NOTHING = "nothing to change: the cluster is as the file says"
NOBODY = "http://127.0.0.1:1"
OPEN_PART = """\
brokers:
  default:
    log.retention.ms: 7200000
users:
  ann:
    password: {env: PASSWORD_OF_ANN}
  bob:
    mechanisms: SCRAM-SHA-512
    password: {file: bob.txt}
topics:
  orders:
    partitions: 3
    settings:
      cleanup.policy: [compact, delete]
      retention.ms: 86400000
  plain:
    partitions: 1
    replication: 1
acls:
  - principal: ann
    operations: [read, describe]
    topic: orders
  - principal: User:bob
    operations: all
    topic: team.
    prefixed: true
    permission: deny
    host: 10.0.0.1
  - principal: User:*
    operations: [describe]
    cluster: true
quotas:
  - user: ann
    produce: 10M
    request: 12.5
  - user: "*"
    client-id: batch
    fetch: 500k
  - ip: 10.0.0.1
    connections: 5
"""
TENANTS = """\
tenants:
  shop:
    prefix: shop.
    partitions: 5
    produce: 1M
    password: {env: PASSWORD_OF_SHOP}
"""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(SETTINGS) as broker:
        yield broker


@pytest.fixture
def empty() -> Iterator[Broker]:
    with Broker(SETTINGS) as broker:
        yield broker


class Place:
    """A folder with a file, and commands that find a cluster."""

    def __init__(self, shell: Shell, folder: Path, bootstrap: str) -> None:
        self._shell = shell
        self.file = folder / "cluster.yaml"
        self.bootstrap = bootstrap
        (folder / "bob.txt").write_text("bob's own\n")

    def apply(self, text: str, *options: str) -> Result:
        self.file.write_text(text)
        return self._shell("apply", "-f", self.file, "-b", self.bootstrap, *options)

    def applied(self, text: str, *options: str) -> Result:
        done = self.apply(text, *options)
        assert done.code == 0, done.err
        return done

    def export(self, *options: str) -> str:
        done = self._shell("export", "-b", self.bootstrap, *options)
        assert done.code == 0, done.err
        return done.out

    def refused(self, text: str, *options: str) -> list[str]:
        """What is said; and that nothing was done."""
        before = self.export()
        failed = self.apply(text, *options)
        assert failed.code == 1
        assert self.export() == before
        return failed.err.replace(f"{self.file}", "FILE").splitlines()


@pytest.fixture(autouse=True)
def passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANN", "BOB", "SHOP"):
        monkeypatch.setenv(f"PASSWORD_OF_{name}", f"the secret of {name}")


@pytest.fixture
def place(shell: Shell, tmp_path: Path, broker: Broker) -> Place:
    return Place(shell, tmp_path, broker.bootstrap)


def elsewhere(shell: Shell, folder: Path, bootstrap: str) -> Place:
    return Place(shell, folder, bootstrap)


@pytest.mark.slow
def test_a_file_becomes_a_cluster_and_that_a_file(
    place: Place, empty: Broker, shell: Shell, tmp_path: Path, registries: tuple[Rest, Rest]
) -> None:
    first, second = registries
    schemas = f"schemas:\n  a-value:\n    schema: '{json.dumps(record('A', 'a'))}'\n    compatibility: FULL\n"
    referring = record("Z", {"name": "a", "type": "A"})
    schemas += f"  0-value:\n    schema: '{json.dumps(referring)}'\n"
    schemas += "    references: [{name: A, subject: a-value, version: 1}]\n"
    schemas += '  b-value:\n    type: json\n    schema: \'{"type": "object"}\'\n'
    text = OPEN_PART + TENANTS + schemas
    shown = place.applied(text, "--dry-run", "--registry", first.url)
    assert "nothing was done" in shown.err
    assert "+ topic orders\n    partitions: 3\n    cleanup.policy: compact,delete\n" in shown.out
    assert place.export("--registry", first.url) == "{}\n" or "orders" not in place.export()
    done = place.applied(text, "--registry", first.url)
    assert done.out == shown.out
    assert "secret" not in done.out + done.err
    again = place.applied(text, "--registry", first.url)
    assert (again.out, again.err.strip()) == ("", NOTHING)
    told = place.export("--registry", first.url)
    assert "secret" not in told
    with Client(place.bootstrap) as client:
        assert {name: sorted(each) for name, each in users(client).items()} == {
            "ann": ["SCRAM-SHA-256", "SCRAM-SHA-512"],
            "bob": ["SCRAM-SHA-512"],
            "shop": ["SCRAM-SHA-256", "SCRAM-SHA-512"],
        }
    other = elsewhere(shell, tmp_path, empty.bootstrap)
    other.applied(told, "--registry", second.url)
    assert other.export("--registry", second.url) == told
    assert other.applied(told, "--prune", "--registry", second.url).err.strip() == NOTHING


@pytest.fixture
def registries(broker: Broker, empty: Broker) -> Iterator[tuple[Rest, Rest]]:
    with registry(broker.bootstrap) as first, registry(empty.bootstrap) as second:
        yield first.rest, second.rest


@pytest.mark.java
@pytest.mark.slow
def test_apache_kafka_becomes_what_an_export_says(empty: Broker, shell: Shell, tmp_path: Path) -> None:
    ours = elsewhere(shell, tmp_path, empty.bootstrap)
    ours.applied(OPEN_PART)
    told = ours.export()
    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    with KafkaPeer(properties={"authorizer.class.name": authorizer, "super.users": "User:ANONYMOUS"}) as peer:
        theirs = elsewhere(shell, tmp_path, peer.bootstrap)
        assert "nothing was done" in theirs.applied(told, "--dry-run").err
        theirs.applied(told)
        assert theirs.applied(told).err.strip() == NOTHING
        assert theirs.export() == told
        fewer = theirs.refused("topics:\n  orders:\n    partitions: 2\n")
        assert fewer[0] == "penstock: FILE:3:17: topic orders has 3 partitions, and cannot have 2: they only grow"
        unknown = theirs.refused("topics:\n  orders:\n    settings:\n      no.such: 1\n")
        assert unknown[-2].startswith("penstock: FILE:4:16: topic orders: INVALID_CONFIG")
        (tenants, _) = theirs.refused(TENANTS)
        assert tenants.endswith("these brokers know no tenants")
        pruned = theirs.applied("topics:\n  orders:\n    partitions: 4\n", "--prune", "--yes")
        assert "- topic plain" in pruned.out
        assert "~ partitions: 3 -> 4" in pruned.out
        assert "plain" not in theirs.export("--only", "topics")


def test_what_is_there_is_altered_and_no_more_than_that(place: Place) -> None:
    place.applied("topics:\n  altered:\n    partitions: 2\n    settings: {retention.ms: 1, segment.ms: 1000}\n")
    done = place.applied("topics:\n  altered:\n    partitions: 4\n    settings: {retention.ms: 2}\n", "-o", "json")
    told: dict[str, Any] = json.loads(done.out)
    assert (told["changed"], told["dry_run"]) == (True, False)
    assert [(each["action"], each["name"]) for each in told["changes"]] == [("change", "altered")] * 2
    assert told["changes"][1]["details"] == ["~ retention.ms: 1 -> 2"]
    exported = place.export("--only", "topics")
    assert "partitions: 4" in exported
    assert "segment.ms: '1000'" in exported


@pytest.mark.slow
def test_nothing_is_taken_away_unless_somebody_says_so(empty: Broker, shell: Shell, tmp_path: Path) -> None:
    place = elsewhere(shell, tmp_path, empty.bootstrap)
    place.applied(OPEN_PART + TENANTS)
    shell("topic", "create", "_kept", "-b", empty.bootstrap)
    shell("topic", "create", "shop.kept", "-b", empty.bootstrap)
    shell("produce", "__hidden", "-b", empty.bootstrap, stdin=b"x\n")
    fewer = (
        "users: {ann: {mechanisms: [SCRAM-SHA-256]}}\ntopics: {orders: {partitions: 3}}\n"
        "acls:\nquotas: [{user: ann, produce: 10M}]\nbrokers: {}\n"
    )
    assert place.applied(fewer).err.strip() == NOTHING
    (*_, said, hint) = place.refused(fewer, "--prune")
    assert (said, hint) == ("penstock: nothing was done: something would be taken away", "  look at it, and say --yes")
    done = place.applied(fewer, "--prune", "--yes")
    for line in ("- topic plain", "- user bob", "    - retention.ms: 86400000", "    - request: 12.5"):
        assert line in done.out.splitlines()
    assert "    - mechanisms: SCRAM-SHA-512" in done.out.splitlines()
    left = shell("topic", "list", "--internal", "-b", empty.bootstrap).out
    assert "plain" not in left
    assert all(name in left for name in ("_kept", "shop.kept", "orders", "__hidden"))
    exported = place.export()
    assert "shop:" in exported
    assert "acls:" not in exported
    assert shell("tenant", "describe", "shop", "-b", empty.bootstrap).code == 0
    assert place.applied(fewer, "--prune").err.strip() == NOTHING
    refused = place.refused("tenants:\n", "--prune")
    assert refused == ["penstock: nothing was done: something would be taken away", "  look at it, and say --yes"]
    assert "- tenant shop" in place.applied("tenants:\n", "--prune", "--yes").out
    assert "shop.kept" in shell("topic", "list", "-b", empty.bootstrap).out


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "left"), [("n", True), ("y", False)])
def test_at_a_terminal_it_asks_before_it_takes_away(answer: str, left: bool, place: Place) -> None:
    place.applied("topics: {asked: {partitions: 1}}\n")
    place.file.write_text(place.export("--only", "topics").replace("asked:", "new:"))
    leader, follower = pty.openpty()
    words = command("apply", "-f", place.file, "--prune", "-b", place.bootstrap)
    with subprocess.Popen(words, stdin=follower, stdout=follower, stderr=follower) as process:
        os.close(follower)
        seen = b""
        while b"go on?" not in seen:
            seen += os.read(leader, 4096)
        os.write(leader, f"{answer}\n".encode())
        with contextlib.suppress(OSError):
            while data := os.read(leader, 4096):
                seen += data
        assert process.wait(TIMEOUT_S) == int(left)
    os.close(leader)
    assert ("asked:" in place.export("--only", "topics")) == left


def test_nobody_removes_himself(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "user", "ann")
    place.applied("users:\n  ann: {password: {env: PASSWORD_OF_ANN}}\n  bob: {password: {env: PASSWORD_OF_BOB}}\n")
    (said, _) = place.refused("users: {bob: {}}\n", "--prune", "--yes")
    assert said == "penstock: user ann is not in the file, and it is the one who applies it"
    assert "- user bob" in place.applied("users: {ann: {}}\n", "--prune", "--yes").out


def test_a_file_may_come_from_the_standard_input(place: Place, shell: Shell) -> None:
    done = shell("apply", "-f", "-", "-b", place.bootstrap, stdin=b"topics: {piped: {}}\n")
    assert done.code == 0, done.err
    assert "piped:" in place.export("--only", "topics")


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("topic: {}", "1:1: the file: there is no topic", "did you mean topics?"),
        ("[]", "1:1: nothing is declared here", "expected: brokers, tenants"),
        ("topics:\n  a: {partition: 3}", "2:7: topic a: there is no partition", "did you mean partitions?"),
        ("topics:\n  a:\n    partitions: many", "3:17: partitions of topic a: a number from 1 to", None),
        ("topics:\n  a:\n    partitions: 0", "3:17: partitions of topic a: a number from 1 to", None),
        ("topics: [a]", "1:9: topics: `key: value` is expected", "a line for each"),
        ("topics:\n  a:\n    settings: {b: {c: d}}", "3:19: setting of topic a b: one value", None),
        ("topics:\n  a:\n    settings:\n      b:", "4:9: setting of topic a b: a value is missing", None),
        ("brokers:\n  one: {}", "2:3: brokers: a broker's number or default", None),
        ("users:\n  a: {password: secret}", "2:17: password of user a: no password is expected here", "write {env:"),
        (
            "users:\n  a: {mechanisms: SCRAM}",
            "2:19: mechanisms of user a: 'SCRAM' is not known",
            "expected: SCRAM",
        ),
        ("acls: [{principal: a, operations: read}]", "1:8: rule: one of topic, group", None),
        ("acls: [{topic: a, operations: read}]", "1:8: rule: principal is missing", None),
        ("acls: [{topic: a, principal: b, operations: write, group: c}]", "1:8: rule: one of topic, group", None),
        (
            "acls: [{group: a, principal: b, operations: write}]",
            "1:45: operations of a group: 'write'",
            "expected: all",
        ),
        ("quotas: [{produce: 1}]", "1:10: quota: whose it is", None),
        ("quotas: [{user: a}]", "1:10: quota: how much", "at least one of"),
        ("quotas: [{user: a, produce: -1}]", "1:29: produce: a number above 0", "bytes per second, such as 500k"),
        ("quotas: [{user: a, connections: 1}]", "1:33: connections: connections are for an ip", None),
        ("tenants: {a: {partitions: 1}, a.b: {partitions: 1}}", "1:31: topics of a.b would also be a's", None),
        ("schemas: {a: {file: nowhere.avsc}}", "1:21: cannot read", "paths begin"),
        ("schemas: {a: {type: xml, schema: x}}", "1:21: type of subject a: 'xml'", "expected: avro"),
        ("a: [", "1:5: expected the node content", "while parsing"),
    ],
)
def test_a_wrong_file_is_pointed_at(text: str, said: str, hint: str | None, shell: Shell, tmp_path: Path) -> None:
    """Without asking anybody: nobody listens there."""
    failed = Place(shell, tmp_path, "127.0.0.1:1").apply(text)
    first, *rest = failed.err.replace(f"{tmp_path}/cluster.yaml", "FILE").splitlines()
    assert failed.code == 1
    assert first.startswith(f"penstock: FILE:{said}")
    assert hint is None or rest[0].strip().startswith(hint)


@pytest.mark.slow
def test_what_cannot_be_is_refused_before_anything_is_done(place: Place) -> None:
    place.applied("topics: {kept: {partitions: 2}}\n")
    before = place.export()
    good = "topics:\n  fresh: {partitions: 1}\n  kept: {partitions: 2}\n"
    cases = {
        "topics:\n  fresh: {}\n  kept: {partitions: 1}\n": "3:22: topic kept has 2 partitions, and cannot have 1",
        "topics:\n  fresh: {}\n  kept: {replication: 3}\n": "3:23: topic kept has 1 copies of each",
        "topics:\n  fresh: {}\n  other: {replication: 3}\n": "3:3: topic other: INVALID_REPLICATION_FACTOR",
        "topics:\n  fresh: {}\n  kept:\n    settings:\n      retention.ms: long\n": "5:21: topic kept: INVALID_CONFIG",
        "topics:\n  fresh: {}\n  a b: {}\n": "3:3: topic a b: INVALID_TOPIC_EXCEPTION",
        f"{good}brokers:\n  7: {{}}\n": "5:3: there is no broker 7",
        f"{good}brokers:\n  default: {{no.such: 1}}\n": "5:22: a broker has no setting no.such",
        f"{good}brokers:\n  default: {{penstock.tenants: x}}\n": "5:31: penstock.tenants is not set here",
        f"{good}brokers:\n  default: {{ssl.key.password: x}}\n": "5:31: ssl.key.password is secret",
        f"{good}users:\n  new: {{}}\n": "5:3: user new is new and has no password",
        f"{good}users:\n  new: {{password: {{env: NOT_THERE}}}}\n": "5:19: there is no password in the variable",
        f"{good}users:\n  new: {{password: {{file: nowhere}}}}\n": "5:19: cannot read the file nowhere",
        f"{good}schemas:\n  a: {{schema: '\"string\"'}}\n": "no registry answers",
    }
    for text, said in cases.items():
        failed = place.apply(text, "--registry", NOBODY)
        assert failed.code == 1
        assert said in failed.err
    assert place.export() == before
