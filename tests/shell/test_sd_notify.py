"""What systemd hears of a node."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from penstock.core.node.observing.event_log import Fact
from penstock.shell.event_lines import as_json
from penstock.shell.sd_notify import VARIABLE, notify


@pytest.mark.parametrize("is_abstract", [False, True])
def test_a_state_goes_to_the_socket_that_is_named(
    is_abstract: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"@penstock-{tmp_path.name}" if is_abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(f"\0{name[1:]}" if is_abstract else name)
        heard.settimeout(5)
        monkeypatch.setenv(VARIABLE, name)
        notify("READY=1")
        assert heard.recv(100) == b"READY=1"


def test_nobody_need_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gone"))
    notify("READY=1")
    monkeypatch.delenv(VARIABLE)
    notify("READY=1")


def test_a_line_for_programs_keeps_its_fields() -> None:
    line = as_json(Fact("warning", "disk", 'it said "no"\nand \x1b[31mno'), 3, 1_700_000_000.25)
    assert "\n" not in line
    assert "\x1b" not in line
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "WARN",
        "node": 3,
        "component": "disk",
        "text": 'it said "no"\nand \x1b[31mno',
    }
