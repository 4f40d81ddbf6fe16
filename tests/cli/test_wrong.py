"""What is wrong is answered in two lines, in words of the person who typed it: what it is, and what to do."""

import errno
import json
import os
import re
from pathlib import Path

import pytest

from penstock.cli import up
from penstock.cli.folder import ClusterFolder
from penstock.cli.pidfile import PidFile
from penstock.cli.talk import Refused
from penstock.testing import Broker
from tests.cli.running import Shell, run_process

LOOKS_LIKE = '  a plan looks like {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2]}]}'


@pytest.fixture
def here(shell: Shell, penstock_broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP", penstock_broker.bootstrap)
    return shell


@pytest.mark.parametrize(
    ("typed", "message", "hint"),
    [
        (("stop",), "No such command 'stop'.", "`penstock down` stops a cluster; ctrl-c ends `penstock up`"),
        (("topics",), "No such command 'topics'.", "`penstock topic list` lists them"),
        (
            ("group", "delete", "g", "--topic"),
            "Option '--topic' requires an argument.",
            "see `penstock group delete --help`",
        ),
        (
            ("topic", "describe", "orders", "--topic", "orders"),
            "No such option: --topic",
            "the topic is named without an option",
        ),
        (
            ("topic", "create", "t", "--partitions", "99999999999"),
            "Invalid value for '--partitions' / '-p': 99999999999 is not from 1 to 2147483647",
            "see `penstock topic create --help`",
        ),
        (
            ("topic", "create", "t", "--replication-factor", "40000"),
            "Invalid value for '--replication-factor': 40000 is not from 1 to 32767",
            "see `penstock topic create --help`",
        ),
        (
            ("topic", "alter", "t", "--partitions", "0"),
            "Invalid value for '--partitions' / '-p': 0 is not from 1 to 2147483647",
            "see `penstock topic alter --help`",
        ),
        (
            ("config", "alter", "--broker", "x", "--set", "a=b"),
            "Invalid value for '--broker': 'x' is neither a broker's number, as in `penstock cluster info`, "
            "nor default",
            "see `penstock config alter --help`",
        ),
        (
            ("consume", "t", "--format", "{"),
            "Invalid value for --format: a brace stands alone at the end; write {{ for one; there are {topic}, "
            "{partition}, {offset}, {timestamp}, {time}, {key}, {value}, {headers}, and {value:hex}, :base64, :json",
            "see `penstock consume --help`",
        ),
        (
            ("-b", "127.0.0.1:9092", "topic", "list"),
            "No such option: -b",
            "options of a command stand behind it: `penstock COMMAND -b ...`",
        ),
        (
            ("--output", "json", "topic", "list"),
            "No such option: --output",
            "options of a command stand behind it: `penstock COMMAND --output ...`",
        ),
        (("sim", "--seeds", "x"), "'x' is not a seed", "give a number, or a range such as 0-99"),
        (
            ("consume", "t", "-n", "-1"),
            "Invalid value for '--count' / '-n': -1 is not 0 or more",
            "see `penstock consume --help`",
        ),
    ],
)
def test_what_is_typed_wrongly(shell: Shell, typed: tuple[str, ...], message: str, hint: str) -> None:
    failed = shell(*typed)
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.splitlines() == [f"penstock: {message}", f"  {hint}"]


@pytest.mark.parametrize(
    ("option", "given", "message"),
    [("--nodes", "x", "'x' is no whole number"), ("--port", "9o92", "'9o92' is no whole number")],
)
def test_what_is_no_number_is_called_so(option: str, given: str, message: str) -> None:
    failed = run_process("up", option, given)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.splitlines() == [f"penstock: argument {option}: {message}", "  see `penstock up --help`"]


def test_a_count_beyond_all_counts_is_no_traceback(shell: Shell) -> None:
    failed = shell("consume", "t", "-n", "9" * 30)
    assert failed.code == 2
    assert "is not from 0 to" in failed.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[1]", 'it is no object with a list called "partitions"'),
        ('{"version": 1}', 'it is no object with a list called "partitions"'),
        ('{"partitions": 3}', 'it is no object with a list called "partitions"'),
        ('{"partitions": [7]}', "7 names no topic"),
        ('{"partitions": [{"topic": "t"}]}', "t has no partition null: partitions are numbers"),
        (
            '{"partitions": [{"topic": "t", "partition": 0, "replicas": ["1"]}]}',
            'the replicas of t-0 are brokers\' numbers, such as [1, 2], not ["1"]',
        ),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 1]}]}', "t-0 has a broker twice"),
    ],
)
def test_a_plan_that_is_none(here: Shell, tmp_path: Path, text: str, message: str) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(text)
    failed = here("cluster", "reassign", "--file", plan)
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.splitlines() == [f"penstock: {plan} is not a plan: {message}", LOOKS_LIKE]


def test_a_name_that_collides_is_told_why(here: Shell, penstock_broker: Broker) -> None:
    penstock_broker.create_topic("colliding_name")
    failed = here("topic", "create", "colliding.name")
    assert failed.code == 1
    assert "collides with the existing topic 'colliding_name'" in failed.err
    assert failed.err.splitlines()[1] == (
        "  metrics write `.` and `_` alike, so names differ in more than that: choose another"
    )


def test_more_partitions_than_one_request_may_create(here: Shell) -> None:
    failed = here("topic", "create", "wide", "--partitions", "1000000")
    assert failed.code == 1
    assert "at most 10000 partitions" in failed.err
    assert failed.err.splitlines()[1].startswith("  ask for fewer, and then add more")


@pytest.mark.parametrize(("name", "hint"), [("retention.m", "did you mean retention.ms?"), ("xyzzy", "--all`")])
@pytest.mark.parametrize(
    "command",
    [
        ("topic", "alter", "TOPIC", "--unset", "NAME"),
        ("topic", "alter", "TOPIC", "--config", "NAME=1"),
        ("config", "alter", "--topic", "TOPIC", "--unset", "NAME"),
        ("config", "alter", "--topic", "TOPIC", "--set", "NAME=1"),
    ],
)
def test_what_is_no_setting_of_a_topic_cannot_be_changed(
    here: Shell, penstock_broker: Broker, penstock_topic: str, command: tuple[str, ...], name: str, hint: str
) -> None:
    penstock_broker.create_topic(penstock_topic)
    failed = here(*(word.replace("TOPIC", penstock_topic).replace("NAME", name) for word in command))
    assert failed.code == 1
    assert failed.err.startswith(f"penstock: a topic has no setting {name}\n")
    assert hint in failed.err


@pytest.mark.parametrize("broker", ["1", "default"])
@pytest.mark.parametrize("change", [("--unset", "log.retention.m"), ("--set", "log.retention.m=5")])
def test_what_is_no_setting_of_a_broker_cannot_be_changed(here: Shell, broker: str, change: tuple[str, str]) -> None:
    failed = here("config", "alter", "--broker", broker, *change)
    assert failed.code == 1
    assert failed.err.splitlines() == [
        "penstock: a broker has no setting log.retention.m",
        "  did you mean log.retention.ms?",
    ]


def test_a_new_topic_is_told_the_name_that_was_meant(here: Shell) -> None:
    failed = here("topic", "create", "t", "--config", "retention.mss=5")
    assert failed.code == 1
    assert failed.err.splitlines()[1:] == ["  did you mean retention.ms?"]


@pytest.mark.parametrize("typed", [("topic", "list"), ("consume", "t"), ("cluster", "health")])
def test_a_controllers_port_is_told_from_a_brokers(
    here: Shell, penstock_broker: Broker, typed: tuple[str, ...]
) -> None:
    listening = re.search(r"CONTROLLER at (\S+),", penstock_broker.talk())
    assert listening is not None
    failed = here(*typed, "--bootstrap", listening[1])
    assert (failed.code, failed.out) == (1, "")
    first, hint = failed.err.splitlines()
    assert "controller" in first
    assert hint == "  name a broker's address with --bootstrap, as `penstock status` shows it"


def test_what_cannot_be_changed_is_not_said_to(here: Shell) -> None:
    rows = json.loads(here("config", "describe", "--broker", "1", "--all", "-o", "json").out)
    assert {row["setting"]: row["can_change"] for row in rows}["listeners"] == "no"
    assert here("config", "alter", "--broker", "1", "--set", "listeners=PLAINTEXT://:1").code == 1


@pytest.mark.parametrize("command", ["up", "status"])
def test_settings_that_are_no_text(tmp_path: Path, command: str) -> None:
    file = tmp_path / "node-1" / "server.properties"
    file.parent.mkdir()
    file.write_bytes(b"a=\xff\xfe\n")
    failed = run_process(command, "--data-dir", tmp_path)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.splitlines() == [
        f"penstock: {file} is not a text file",
        "  settings are lines of key=value in UTF-8",
    ]


@pytest.mark.parametrize(
    ("nodes", "metrics", "whose"), [("1", 0, "node 1"), ("1", 1001, "node 1"), ("2", 1, "nodes 1 and 2")]
)
def test_ports_that_are_needed_twice(tmp_path: Path, nodes: str, metrics: int, whose: str) -> None:
    ports = ("--port", "21000", "--metrics-port", str(21000 + metrics))
    failed = run_process("up", "--data-dir", tmp_path / "data", "--nodes", nodes, *ports)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.splitlines() == [
        f"penstock: port {21000 + metrics} would be needed twice, by {whose}",
        "  choose another --metrics-port",
    ]
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("number", "hint"), [(errno.ENOSPC, "make room on that disk"), (errno.EACCES, "who may write")]
)
def test_a_folder_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str) -> None:
    def refuse(_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(PidFile, "hold", refuse)
    with pytest.raises(Refused) as failed, up._held(ClusterFolder(f"{tmp_path}/data"), ephemeral=False):
        pass
    assert failed.value.message == f"{tmp_path}/data cannot be used: {os.strerror(number)}"
    assert hint in (failed.value.hint or "")
    assert not (tmp_path / "data").exists()


def test_a_settings_file_is_checked_to_its_end(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("listeners=nonsense\nlog.dirs=/a,/b\n")
    failed = shell("config", "check", file)
    assert failed.code == 1
    assert failed.err.splitlines() == [
        f"penstock: a node refuses to start with {file}: listeners, log.dirs, "
        "controller.listener.names, node.id, process.roles",
        "  the remarks say why",
    ]
