"""Starting a run as a process of its own, in a world of its own where the account may have one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.chaos.place import UNSHARE, can_have_own_world

ROOT = Path(__file__).resolve().parent.parent.parent


def chaos(
    nodes: int, faults: int, seed: int, seconds_max: float, *, is_secure: bool = False, is_sealed: bool = False
) -> str:
    """The report of a run that must end well."""
    command = [sys.executable, "-m", "tests.chaos.run", f"--nodes={nodes}", f"--faults={faults}", f"--seed={seed}"]
    if is_secure:
        command.append("--secure")
    if is_sealed:
        command.append("--sealed")
    if can_have_own_world():
        command = [*UNSHARE, *command, "--own-world"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds_max, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
