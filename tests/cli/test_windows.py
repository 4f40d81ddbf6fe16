"""On Windows, where it does not run, each way in says so in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

# What a Windows has not, it cannot import.
WINDOWS = """
import sys
sys.platform = "win32"
for name in ("fcntl", "grp", "pwd", "resource", "termios", "uvloop"):
    sys.modules[name] = None
"""
LINE = "Penstock runs on Linux and macOS, and on Windows inside WSL"


def on_windows(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WINDOWS + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize("command", ["up", "topic", "--version"])
def test_a_command_is_refused_in_one_line_with_a_hint(command: str) -> None:
    ended = on_windows("from penstock.cli.main import main; sys.exit(main())", command)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines()[0] == f"penstock: {LINE}"
    assert len(ended.stderr.splitlines()) == 2


@pytest.mark.parametrize("module", ["from penstock.testing import Broker", "import penstock.spark"])
def test_a_program_is_told_why(module: str) -> None:
    ended = on_windows(module)
    assert ended.stderr.splitlines()[-1] == f"ImportError: {LINE}"


@pytest.mark.slow
def test_the_plugin_disturbs_no_run_of_pytest() -> None:
    ended = on_windows("import penstock.testing.plugin")
    assert (ended.returncode, ended.stderr) == (0, "")
