"""Nodes that encrypt nothing load nothing of it; those that should and cannot say so."""

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.shell import key_source
from penstock.shell.children import environment
from penstock.testing import Broker, BrokerFailed
from tests.sealing.test_sealed_node import FILE, key_line

pytestmark = pytest.mark.client

LOADED = """
import sys
from penstock.testing import Broker
with Broker() as broker:
    broker.create_topic("t")
    broker.produce("t", "v")
    broker.records("t")
    print([name for name in sys.modules if name.startswith("cryptography") or "shell.seal" in name])
"""


def test_without_keys_nothing_of_it_is_loaded() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True, env=environment())
    assert ran.stdout.strip() == "['penstock.shell.sealed_mark']"


def test_without_the_library_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = tmp_path / "keys"
    keys.write_text(key_line("k1"))
    monkeypatch.setattr(key_source, "find_spec", lambda name: None)
    with pytest.raises(BrokerFailed, match=r"pip install 'penstock\[security\]'"):
        Broker({FILE: str(keys)}, folder=tmp_path / "data").start()


def test_keys_that_others_may_read_are_warned_of(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text(key_line("k1"))
    keys.chmod(0o644)
    with Broker({FILE: str(keys)}, folder=tmp_path / "data") as broker:
        assert "others than its owner may read the file of keys" in broker.talk()


def test_a_file_and_a_command_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises((BrokerFailed, ValueError), match="set one of them"):
        Broker({FILE: "a", "penstock.encryption.keys.command": "b"}, folder=tmp_path / "data").start()
