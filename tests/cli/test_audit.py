"""`penstock audit trail`, on a running broker."""

import json
import signal
import subprocess

import pytest

from penstock.testing import Broker
from tests.cli.running import TIMEOUT_S, Shell, command
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


def events(shell: Shell, broker: Broker, *options: str) -> list[dict[str, object]]:
    told = shell("audit", "trail", "-b", broker.bootstrap, "-o", "json", *options)
    return [json.loads(line) for line in told.out.splitlines()]


def test_the_trail_of_a_cluster(shell: Shell) -> None:
    with Broker() as broker:
        bootstrap = ("-b", broker.bootstrap)
        told = shell("audit", "trail", *bootstrap)
        assert told.code == 1
        assert "penstock.audit.enable=true" in told.err
        setting = ("--set", "penstock.audit.enable=true")
        assert shell("config", "alter", "--broker", "default", *setting, *bootstrap).code == 0
        assert shell("topic", "create", "orders", *bootstrap).code == 0
        assert shell("topic", "delete", "orders", "--yes", *bootstrap).code == 0
        wait_until(lambda: len(events(shell, broker)) == 2, what="both changes are on record")
        assert [each["api"] for each in events(shell, broker)] == ["CreateTopics", "DeleteTopics"]
        assert [each["api"] for each in events(shell, broker, "--api", "DeleteTopics")] == ["DeleteTopics"]
        assert events(shell, broker, "--principal", "alice") == []
        (line,) = shell("audit", "trail", *bootstrap, "--api", "CreateTopics", "--since", "1h").out.splitlines()
        assert "change  User:ANONYMOUS at 127.0.0.1  CreateTopics  orders  NONE" in line


def test_who_follows_waits_for_the_first_event(shell: Shell) -> None:
    with Broker({"penstock.audit.enable": True}) as broker:
        asked = command("audit", "trail", "--follow", "-b", broker.bootstrap, "-o", "json")
        with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert "nothing is on record yet" in process.stderr.readline()
            assert shell("topic", "create", "orders", "-b", broker.bootstrap).code == 0
            assert json.loads(process.stdout.readline())["api"] == "CreateTopics"
            process.send_signal(signal.SIGINT)
            assert process.wait(TIMEOUT_S) == 130


def test_what_cannot_be_asked_is_refused_in_one_line(shell: Shell) -> None:
    told = shell("audit", "trail", "--event", "nonsense")
    assert told.code == 2
    assert "none of change, refused, authentication" in told.err
