"""`penstock top` on clusters that run: once, for programs, at a terminal, and while a broker is away."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from penstock.client.blocking import Client
from penstock.client.pulse.look import Watcher
from penstock.client.pulse.rates import pulse_of
from tests.cli.running import TIMEOUT_S, Shell, Up, at_a_terminal, command, running
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

ONCE = ("--once", "--interval", "0.1")


def test_two_looks_make_one_answer(penstock: Shell) -> None:
    penstock("topic", "create", "topped", "--partitions", "2")
    penstock("consume", "topped", "-g", "readers", "--to", "end")
    done = penstock("top", *ONCE, "--rows", "100")
    assert done.code == 0, done.err
    assert done.out.startswith("1 broker · controller 1 · ")
    told: dict[str, Any] = json.loads(penstock("top", *ONCE, "-o", "json", "--rows", "100").out)
    assert [(each["broker"], each["state"]) for each in told["brokers"]] == [(1, "up")]
    assert "topped" in {each["topic"] for each in told["topics"]}


def test_who_writes_and_what_is_seen(up: Up, shell: Shell) -> None:
    at = ("-b", up.bootstrap)
    shell("topic", "create", "seen", *at)
    with Client(up.bootstrap, client_id="watcher") as client:
        watcher = Watcher(client)
        before = watcher.look()
        assert shell("produce", "seen", *at, stdin=b"a\n" * 500).code == 0
        pulse = pulse_of(before, watcher.look())
    (broker,) = pulse.brokers
    (topic,) = [each for each in pulse.topics if each.topic == "seen"]
    assert min(broker.bytes_in or 0, broker.records_in or 0, broker.requests or 0, broker.produce_p99_ms or 0) > 0
    assert min(topic.records_in, topic.bytes_in or 0) > 0
    (ours,) = [each for each in pulse.clients if each.client == "watcher"]
    assert ours.connections >= 1
    assert min(ours.bytes_in, ours.bytes_out) > 0


def test_a_narrow_terminal(up: Up) -> None:
    shown = at_a_terminal("top", *ONCE, bootstrap=up.bootstrap, columns=40).splitlines()
    assert shown[0].startswith("1 broker ·")
    assert max(map(len, shown)) <= 40


def test_it_goes_on_until_it_is_ended(up: Up) -> None:
    leader, follower = pty.openpty()
    environment = os.environ | {"COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
    words = command("top", "--interval", "0.1", "-b", up.bootstrap)
    with subprocess.Popen(words, stdin=follower, stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
        seen = b""
        while seen.count(b"controller 1") < 3:
            seen += os.read(leader, 4096)
        process.send_signal(signal.SIGINT)
        try:
            while data := os.read(leader, 4096):
                seen += data
        except OSError:
            # Where the last writer has gone, Linux says that the terminal has failed.
            pass
        assert process.wait(TIMEOUT_S) == 130
    os.close(leader)
    assert seen.endswith((b"\x1b[?1049l\x1b[?25h", b"\x1b[?25h\x1b[?1049l")), seen[-60:]


def test_a_broker_that_is_away_is_shown_so(tmp_path: Path, shell: Shell) -> None:
    with running(tmp_path / "data", "--nodes", "3") as up:
        everybody = f"127.0.0.1:{up.port},127.0.0.1:{up.port + 2}"
        shell("topic", "create", "shared", "--partitions", "3", "--replication-factor", "3", "-b", everybody)
        os.kill(int((tmp_path / "data" / "node-2" / "pid").read_text()), signal.SIGKILL)

        def looked() -> dict[str, Any]:
            found: dict[str, Any] = json.loads(shell("top", *ONCE, "-o", "json", "-b", everybody).out)
            return found

        wait_until(lambda: looked()["brokers"][1]["state"] == "away", what="a broker that is away")
        told = looked()
        assert [each["state"] for each in told["brokers"]] == ["up", "away", "up"]
        assert told["brokers"][1]["bytes_in"] is None
        assert told["brokers"][0]["bytes_in"] is not None
        assert told["under_replicated"] >= 3
