"""The small pure pieces of the commands."""

import os
import re
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer

from penstock.cli import node_settings, pidfile
from penstock.cli.arguments import assignments, time_text, timestamp_ms
from penstock.cli.listeners import listener_of
from penstock.cli.main import PLAIN_COMMANDS
from penstock.cli.node_settings import (
    Ports,
    Reach,
    address_of,
    has_joined,
    inherited,
    joined_settings,
    local_defaults,
    merge,
    own_ports,
    own_settings,
    ports_of,
    reach_of,
)
from penstock.cli.output import bytes_text
from penstock.cli.pidfile import Held, PidFile
from penstock.cli.plain import COMMANDS
from penstock.cli.record_format import json_line, template, value_line
from penstock.client.metadata import TopicPartition
from penstock.core.base.settings import BrokerSettings, parse_properties
from penstock.core.records.record import Record

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
WHERE = TopicPartition("t", 3)
RECORD = Record(17, 1_700_000_000_000, b"k", b"v", (("a", b"1"), ("b", None)))


def test_the_instant_commands_are_those_of_the_table() -> None:
    assert {command.name for command in COMMANDS} == PLAIN_COMMANDS


@pytest.mark.slow
@pytest.mark.parametrize("module", ["penstock.cli.up", "penstock.cli.plain"])
def test_up_loads_nothing_heavy(module: str) -> None:
    """What a node imports, or typer, would cost more than everything `up` does before the node is started."""
    code = f"import sys, penstock.cli.main, {module}; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"typer", "rich", "confluent_kafka", "asyncio", "dataclasses", "penstock.core.base.settings"}
    assert not heavy.intersection(loaded)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@123", 123),
        ("15m", int(NOW.timestamp() * 1000) - 900_000),
        ("2d", int(NOW.timestamp() * 1000) - 172_800_000),
        ("2026-01-31T12:00+00:00", int(NOW.timestamp() * 1000)),
        ("1970-01-01T00:00:01Z", 1000),
        ("tomorrow", None),
        ("", None),
        ("@x", None),
        ("@9223372036854775808", None),
        ("99999999999999999d", None),
        ("15", None),
    ],
)
def test_moments(text: str, expected: int | None) -> None:
    assert timestamp_ms(text, NOW) == expected


def test_times_beyond_the_calendar_stay_numbers() -> None:
    assert time_text(-1) == ""
    assert time_text(1 << 62) == f"@{1 << 62}"
    assert time_text(0).startswith("19")


def test_assignments() -> None:
    assert assignments(["a=1", "b=x=y", "c="], "--config") == {"a": "1", "b": "x=y", "c": ""}
    for text in ("a", "=1", ""):
        with pytest.raises(typer.BadParameter):
            assignments([text], "--config")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{value}", b"v\n"),
        ("{topic}-{partition}@{offset}: {key}={value}", b"t-3@17: k=v\n"),
        ("{timestamp}\\t{headers}", b"1700000000000\ta=1,b=null\n"),
        ("\\\\n{key}", b"\\nk\n"),
        ("{{key}} {{{key}}}", b"{key} {k}\n"),
        ("{key:hex} {value:base64} {value:json}", b'6b dg== "v"\n'),
        ("100%", b"100%\n"),
        ("plain", b"plain\n"),
    ],
)
def test_templates(text: str, expected: bytes) -> None:
    assert template(text)(WHERE, RECORD) == expected


@pytest.mark.parametrize("text", ["{nonsense}", "{}", "{value", "value}", "%v", "{key} %s", "{value!x}", "{value:oct}"])
def test_templates_know_their_fields(text: str) -> None:
    with pytest.raises(typer.BadParameter, match=re.escape("{headers}")):
        template(text)


def test_nulls_and_bytes() -> None:
    empty = RECORD._replace(key=None, value=None)
    assert value_line(WHERE, empty) == b"null\n"
    assert template("{key}")(WHERE, empty) == b"null\n"
    assert b'"key": null, "value": null' in json_line(WHERE, empty)
    assert b'"value_base64": "/w=="' in json_line(WHERE, RECORD._replace(value=b"\xff"))


def test_sizes() -> None:
    assert [bytes_text(size) for size in (0, 1023, 1024, 1536, 5 << 30, 1 << 60)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.5 KiB",
        "5.0 GiB",
        "1048576.0 TiB",
    ]


def test_ports_follow_from_the_first() -> None:
    assert Ports(1, 9092, 11092).all() == (9092, 10093, 11092)
    assert Ports(3, 9092, 11092).all() == (9094, 10095, 11094)


def test_a_settings_file_keeps_what_a_person_wrote() -> None:
    decided = own_settings([Ports(1, 9092, 11092)], 1, "/d")
    text = merge("", decided, {"num.partitions": "3"}, {})
    assert parse_properties(text).items() >= decided.items()
    assert ports_of(text) == (9092, 11092)
    edited = "# by hand\nlog.retention.ms=1\nnum.partitions=9\n" + text
    moved = merge(edited, own_settings([Ports(1, 7000, 7500)], 1, "/d"), {"log.retention.bytes": "5"}, {})
    assert moved.startswith("# by hand\nlog.retention.ms=1\nnum.partitions=9\n# Written by")
    found = parse_properties(moved)
    assert (found["num.partitions"], found["log.retention.ms"], found["log.retention.bytes"]) == ("3", "1", "5")
    assert ports_of(moved) == (7000, 7500)
    assert merge(moved, own_settings([Ports(1, 7000, 7500)], 1, "/d"), {}, {}) == moved


def test_every_node_is_told_of_all_voters_and_of_its_own_ports() -> None:
    ports = [Ports(number, 9092, 11092) for number in (1, 2, 3)]
    second = own_settings(ports, 2, "/d")
    assert second["controller.quorum.voters"] == "1@127.0.0.1:10093,2@127.0.0.1:10094,3@127.0.0.1:10095"
    assert second["listeners"] == "PLAINTEXT://127.0.0.1:9093,CONTROLLER://127.0.0.1:10094"
    assert (second["node.id"], second["penstock.metrics.port"]) == ("2", "11093")


def test_every_interface_is_no_address_to_connect_to() -> None:
    own = Ports(1, 9092, 11092, reach=Reach("0.0.0.0", "broker.lan"))
    decided = own_settings([own], 1, "/d")
    assert decided["listeners"] == "PLAINTEXT://0.0.0.0:9092,CONTROLLER://127.0.0.1:10093"
    assert decided["advertised.listeners"] == "PLAINTEXT://broker.lan:9092"
    text = merge("", decided, {}, {})
    assert reach_of(text) == own.reach
    assert address_of(text) == "127.0.0.1:9092"
    assert Ports(1, 9092, 11092, reach=Reach("0.0.0.0")).address == f"{socket.gethostname()}:9092"
    assert Reach("fd00::1").controllers == "fd00::1"


def test_topics_of_three_nodes_survive_the_loss_of_one() -> None:
    three = parse_properties(merge("", {}, {}, local_defaults(3)))
    assert (three["default.replication.factor"], three["min.insync.replicas"]) == ("3", "2")
    assert "default.replication.factor" not in local_defaults(2)


def test_a_persons_value_wins_over_the_local_default() -> None:
    text = merge("group.initial.rebalance.delay.ms=2\n", {}, {}, local_defaults(1))
    assert parse_properties(text)["group.initial.rebalance.delay.ms"] == "2"


@pytest.mark.parametrize("value", ["C:\\data", " leading", "tab\there", "line\nbreak", "a=b:c#d!e", "grüße", ""])
def test_any_value_survives_the_file(value: str) -> None:
    assert parse_properties(merge("", {}, {"broker.rack": value}, {}))["broker.rack"] == value


def test_ports_of_a_file_that_names_none() -> None:
    assert ports_of("") is None
    assert ports_of("listeners=SSL://:9093\n") is None
    assert node_settings.METRICS_PORT_KEY == "penstock.metrics.port"


def test_a_pid_file_is_held_by_one(tmp_path: Path) -> None:
    path = str(tmp_path / "pid")
    first, second = PidFile(path), PidFile(path)
    assert first.holder() is None
    first.hold()
    assert second.holder() == os.getpid()
    with pytest.raises(Held) as held:
        second.hold()
    assert held.value.pid == os.getpid()
    first.release()
    assert not os.path.exists(path)
    second.hold()
    assert first.holder() == os.getpid()
    second.release()
    second.release()


def test_a_pid_file_left_by_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    code = f"import os; from penstock.cli.pidfile import PidFile; PidFile({str(path)!r}).hold(); os._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    assert path.read_text().strip().isdigit()
    assert PidFile(str(path)).holder() is None
    file = PidFile(str(path))
    file.hold()
    assert int(path.read_text()) == os.getpid()
    file.release()


def test_a_file_that_its_last_holder_removes_under_our_hands_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pid"
    path.touch()
    take_lock = pidfile.try_lock

    def remove_then_lock(fd: int) -> bool:
        monkeypatch.setattr(pidfile, "try_lock", take_lock)
        path.unlink()
        return take_lock(fd)

    monkeypatch.setattr(pidfile, "try_lock", remove_then_lock)
    file = PidFile(str(path))
    file.hold()
    assert PidFile(str(path)).holder() == os.getpid()
    file.release()


def test_who_listens_on_a_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        found = listener_of(port)
        assert found is not None
        assert found[0] == os.getpid()
    assert listener_of(port) is None


def test_closed_streams_lead_nowhere() -> None:
    """A socket that gets the number of a closed stream would be written to by whoever prints."""
    code = (
        "import os, penstock.cli.talk as talk; talk.open_missing_streams(); print('lost'); "
        "os._exit(0 if all(os.path.samefile(f'/proc/self/fd/{fd}', os.devnull) for fd in range(3)) else 1)"
    )
    closed = ["/bin/sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, code]
    assert subprocess.run(closed, check=False).returncode == 0


# Nodes that have joined


def test_a_node_that_joins_is_a_broker_that_finds_the_controllers() -> None:
    own = Ports(4, 9092, 11092, has_joined=True)
    decided = joined_settings(own, ["127.0.0.1:10093", "127.0.0.1:10094"], "CONTROLLER", "/d")
    text = merge("", decided, {}, {})
    settings = BrokerSettings(parse_properties(text))
    assert (settings.is_broker, settings.is_controller, settings.node_id) == (True, False, 4)
    assert settings["controller.quorum.bootstrap.servers"] == ("127.0.0.1:10093", "127.0.0.1:10094")
    assert has_joined(text)
    assert not has_joined(merge("", own_settings([Ports(1, 9092, 11092)], 1, "/d"), {}, {}))
    assert own.all() == (9095, 11095), "it has no listener for controllers"
    found = own_ports(text, 4)
    assert found is not None
    assert (found.client, found.metrics, found.host) == (9095, 11095, "127.0.0.1")
    assert address_of(text) == "127.0.0.1:9095"


def test_a_node_on_another_machine_is_found_at_its_address() -> None:
    own = Ports(7, 9086, 11086, has_joined=True, reach=Reach("10.0.0.7"))
    text = merge("", joined_settings(own, ["10.0.0.1:10093"], "C", "/d"), {}, {})
    assert parse_properties(text)["listeners"] == "PLAINTEXT://10.0.0.7:9092"
    again = own_ports(text, 7)
    assert again is not None
    assert again.address == own.address == "10.0.0.7:9092"


def test_a_node_that_joins_takes_over_what_the_first_one_was_given() -> None:
    first = merge("# by hand\nlog.retention.ms=1\n", own_settings([Ports(1, 9092, 11092)], 1, "/d"), {"a.b": "c"}, {})
    assert inherited(first) == {"log.retention.ms": "1", "a.b": "c"}
