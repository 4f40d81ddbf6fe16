"""Nodes that are drained for their maintenance: by hand on three real ones, and what is refused on one of each kind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from penstock.client.health import assess
from penstock.client.quorum import Member, Quorum, Registered
from tests.cli.brokers import KAFKA, PENSTOCK
from tests.cli.running import HOST, TIMEOUT_S, Shell, command, running
from tests.waiting import wait_until


def leaders(shell: Shell, *at: str) -> list[int]:
    told = json.loads(shell("topic", "describe", "t", "-o", "json", *at).out)
    return [each["leader"] for each in told["partitions"]]


@pytest.mark.slow
def test_a_node_is_drained_restarted_and_let_lead_again(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running(folder, "--nodes", "3") as up:
        at = ("--bootstrap", ",".join(f"{HOST}:{up.port + each}" for each in range(3)))
        assert shell("topic", "create", "t", "--partitions", "6", *at).code == 0
        victim = json.loads(shell("cluster", "quorum", "-o", "json", *at).out)["leader"]
        before = leaders(shell, *at)
        drained = shell("cluster", "drain", str(victim), "-o", "json", *at)
        assert drained.code == 0, drained.err
        assert json.loads(drained.out) == {"node": victim, "drained": True, "leads": []}
        assert victim not in leaders(shell, *at)
        assert json.loads(shell("cluster", "quorum", "-o", "json", *at).out)["leader"] != victim

        node = folder / f"node-{victim}"
        os.kill(int((node / "pid").read_text()), signal.SIGTERM)
        wait_until(lambda: not (node / "pid").exists(), timeout_s=TIMEOUT_S, what="the node has stopped")
        again = subprocess.Popen(command("node", "--config", node / "server.properties"), stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: shell("cluster", "health", *at).code == 0, timeout_s=TIMEOUT_S, what="all is well")
            assert json.loads(shell("cluster", "health", "-o", "json", *at).out)["drained"] == [victim]
            assert "every broker has its share" in shell("cluster", "balance", "--leaders", "--execute", *at).err
            assert victim not in leaders(shell, *at)
            back = shell("cluster", "undrain", str(victim), *at)
            assert back.err == f"node {victim} leads {before.count(victim)} partitions\n"
            assert leaders(shell, *at) == before
        finally:
            again.terminate()
            again.wait(TIMEOUT_S)


@pytest.mark.parametrize("cluster", [PENSTOCK], indirect=True)
def test_what_nobody_else_has_stays_and_is_named(penstock: Shell) -> None:
    penstock("topic", "create", "only-here")
    stays = penstock("cluster", "drain", "1")
    try:
        assert stays.code == 1
        assert "node 1 is drained, but nobody else can lead" in stays.err
        assert "--replication-factor" in stays.err
        assert penstock("produce", "only-here", stdin=b"1\n").code == 0, "a drain makes nothing unavailable"
    finally:
        assert penstock("cluster", "undrain", "1").code == 0
    assert json.loads(penstock("cluster", "health", "-o", "json").out)["drained"] == []


def test_there_must_be_such_a_node(penstock: Shell) -> None:
    refused = penstock("cluster", "drain", "7")
    assert refused.code == 1
    assert "there is no broker 7" in refused.err


@pytest.mark.parametrize("cluster", [pytest.param(KAFKA, marks=pytest.mark.java)], indirect=True)
def test_kafka_s_brokers_are_not_drained(penstock: Shell) -> None:
    refused = penstock("cluster", "drain", "1")
    assert refused.code == 1
    assert "cannot be drained" in refused.err


def test_a_drain_is_no_illness() -> None:
    quorum = Quorum(1, 1, 1, (Member(1, b"", 1, 1, 1),), ())
    found = assess([], [Registered(1, HOST, 9092, None, is_fenced=False)], quorum, {}, {}, [], [1])
    assert found.drained == (1,)
    assert found.is_healthy
