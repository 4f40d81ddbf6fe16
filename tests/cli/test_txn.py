"""`penstock txn`, and producing and consuming in transactions, on running brokers."""

import json
import signal
import subprocess
from typing import Any

import pytest

from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition
from penstock.client.transactional import TransactionalProducer
from tests.cli.running import TIMEOUT_S, Shell, command
from tests.client.test_transactional import VerificationOff, write_outside
from tests.waiting import wait_until

COMMITTED = ("--isolation", "read_committed")


def read(penstock: Shell, topic: str, *options: str) -> list[str]:
    return penstock("consume", topic, *options).out.split()


def test_input_is_committed_as_a_whole(penstock: Shell) -> None:
    written = penstock("produce", "whole", "--transactional-id", "cli-whole", stdin=b"a\nb\nc\n")
    assert written.code == 0
    assert written.err.startswith("3 records committed in 1 transaction to whole (partition 0: offsets 0 to 2)")
    wait_until(lambda: read(penstock, "whole", *COMMITTED) == ["a", "b", "c"])
    described = json.loads(penstock("txn", "describe", "cli-whole", "-o", "json").out)
    assert (described["transactional_id"], described["partitions"]) == ("cli-whole", [])
    assert described["open_ms"] is None


def test_a_line_that_cannot_be_read_aborts_what_is_open_and_nothing_else(penstock: Shell) -> None:
    lines = b'{"value": "1"}\n{"value": "2"}\n{"value": "3"}\nno json\n'
    options = ("--transactional-id", "cli-parts", "--transaction-records", "2", "--input", "json", "-o", "json")
    failed = penstock("produce", "in-parts", *options, stdin=lines)
    assert failed.code == 1
    report = json.loads(failed.out)
    assert (report["records"], report["transactions"], report["complete"]) == (2, 1, False)
    wait_until(lambda: read(penstock, "in-parts", *COMMITTED) == ["1", "2"])


def test_ctrl_c_aborts(penstock: Shell, cluster: Any) -> None:
    asked = command("produce", "interrupted", "--transactional-id", "cli-interrupted", "-b", cluster.bootstrap)
    penstock("topic", "create", "interrupted")
    with subprocess.Popen(asked, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("typed\n" * 200_000)
        process.stdin.flush()
        wait_until(lambda: state_of(penstock, "cli-interrupted") == "Ongoing", timeout_s=TIMEOUT_S)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait(TIMEOUT_S) == 130
    assert "0 of" in said
    assert "committed in 0 transactions" in said
    wait_until(lambda: state_of(penstock, "cli-interrupted") in ("Empty", "CompleteAbort"))
    assert read(penstock, "interrupted", *COMMITTED) == []


def state_of(penstock: Shell, name: str) -> str | None:
    described = penstock("txn", "describe", name, "-o", "json")
    return str(json.loads(described.out)["state"]) if described.code == 0 else None


def test_what_means_nothing_is_refused(penstock: Shell) -> None:
    for options in (
        ("--transaction-records", "3"),
        ("--property", "transaction.timeout.ms=1000"),
        ("--transactional-id", ""),
        ("--transactional-id", "x", "--acks", "1"),
        ("--transactional-id", "x", "--property", "enable.idempotence=false"),
        ("--transactional-id", "x", "--transaction-records", "0"),
    ):
        assert penstock("produce", "never", *options, stdin=b"x").code == 2
    assert penstock("consume", "never", "--committed", "--isolation", "read_uncommitted").code == 2
    for options in (("orders:0",), ("--start", "3"), (), ("orders:0", "--start", "1", "--transactional-id", "x")):
        assert penstock("txn", "abort", *options).code == 2
    assert penstock("txn", "list", "--longer-than", "soon").code == 2
    assert penstock("txn", "list", "--pattern", "(").code == 2
    unknown = penstock("txn", "describe", "never-seen")
    assert unknown.code == 1
    assert "penstock txn list" in unknown.err


def test_an_open_transaction_is_listed_and_ended_by_its_id(penstock: Shell, cluster: Any) -> None:
    with Client(cluster.bootstrap) as client:
        producer = TransactionalProducer(client, "cli-open")
        producer.begin()
        producer.send("open", None, b"x", partition=0)
        producer.flush()
        (listed,) = json.loads(penstock("txn", "list", "--pattern", "cli-op.*", "--state", "ongoing", "-o", "json").out)
        assert (listed["transactional_id"], listed["state"]) == ("cli-open", "Ongoing")
        assert "cli-open" in penstock("txn", "list").out
        # An id that other tests have used began no transaction, for which Kafka has the time -1.
        assert "no such" in penstock("txn", "list", "--state", "ongoing", "--longer-than", "2h").err
        page = penstock("txn", "describe", "cli-open").out
        assert page.split("\n")[-2].split() == ["open", "0"]
        hanging = penstock("txn", "abort", "open:0", "--start", "0", "--execute")
        assert hanging.code == 1
        assert "does not hang" in hanging.err
        shown = penstock("txn", "abort", "--transactional-id", "cli-open")
        assert (shown.code, state_of(penstock, "cli-open")) == (0, "Ongoing")
        assert "add --execute" in shown.err
        assert penstock("txn", "abort", "--transactional-id", "cli-open", "--yes").code == 0
        assert state_of(penstock, "cli-open") != "Ongoing"
        again = penstock("txn", "abort", "--transactional-id", "cli-open", "--yes")
        assert again.code == 1
        assert "no open transaction" in again.err


def test_a_hanging_transaction_is_found_shown_and_aborted(penstock: Shell, cluster: Any) -> None:
    penstock("topic", "create", "hung")
    with Client(cluster.bootstrap) as client, VerificationOff(client):
        write_outside(client, TopicPartition("hung", 0), producer_id=88_000)
    assert "no transaction hangs" in penstock("txn", "hanging", "--topic", "hung").err
    wait_until(lambda: "88000" in penstock("txn", "hanging", "--longer-than", "0s").out)
    (found,) = json.loads(penstock("txn", "hanging", "-t", "hung", "--longer-than", "0s", "-o", "json").out)
    assert (found["topic"], found["partition"], found["start_offset"]) == ("hung", 0, 0)
    missed = penstock("txn", "abort", "hung:0", "--start", "9", "--execute")
    assert missed.code == 1
    assert "open ones from 0 on" in missed.err
    shown = penstock("txn", "abort", "hung:0", "--start", "0", "-o", "json")
    assert json.loads(shown.out) == [found]
    assert "add --execute" in shown.err
    assert penstock("txn", "abort", "hung:0", "--start", "0", "--execute").code == 0
    assert penstock("txn", "hanging", "-t", "hung", "--longer-than", "0s", "-o", "json").out.strip() == "[]"


pytestmark = pytest.mark.client
