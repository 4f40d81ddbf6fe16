"""Every command that a runbook has people run does run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import Shell, Up, running

RUNBOOKS = Path(__file__).resolve().parents[2] / "docs" / "runbooks"
TEXTS = [page.read_text() for page in RUNBOOKS.glob("*.md")]
COMMANDS = sorted({command for text in TEXTS for command in re.findall(r"^    penstock (.+)$", text, re.MULTILINE)})
RECORDS = b"1\n" * 5000
"""More than the offsets that runbooks name."""


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running(tmp_path_factory.mktemp("runbooks") / "data", "--set", "penstock.disk.full.ratio=1") as up:
        yield up


def test_there_are_some() -> None:
    assert len(COMMANDS) >= 5


@pytest.mark.slow
@pytest.mark.client
def test_commands_of_runbooks_run(
    up: Up, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP", up.bootstrap)
    monkeypatch.chdir(tmp_path)
    shell = Shell(capfd, monkeypatch)
    for topic in ("orders", "orders.dlq"):
        assert shell("produce", topic, stdin=RECORDS).code == 0
    assert shell("consume", "orders", "--group", "billing", "--from", "earliest", "--count", "1").code == 0
    assert shell("audit", "run", "--book", "audit.db").code == 0
    for command in COMMANDS:
        result = shell(*shlex.split(command))
        assert result.code == 0, f"penstock {command}: {result.err}"
