"""What settings do to what a node keeps on its disk: these need a real one."""

from __future__ import annotations

import asyncio
import atexit
import shutil
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp, mkstemp

from penstock.shell.main import Host
from penstock.shell.sealed_disk import SealedDisk
from penstock.shell.sealed_folder import heads_in
from tests.settings_act.socket_checks import visit
from tests.settings_act.trial import Trial
from tests.waiting import wait_until

KEYS_FILE = "penstock.encryption.keys.file"
SEEN_WITHIN_S = 0.5


@cache
def folder() -> Path:
    made = mkdtemp(prefix="penstock-keys-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def line(name: str) -> str:
    return f"{name} {b64encode(name.encode() * 16).decode()}\n"


def keys_file() -> str:
    path = mkstemp(dir=folder())[1]
    Path(path).write_text(line("k1"))
    return path


def command() -> str:
    return f"cat {keys_file()}"


def is_sealed(trial: Trial) -> bool:
    """Whether the log of the metadata is."""

    async def look(host: Host) -> bool:
        return any(heads_in(host.node.settings.log_dir))

    sealed: bool = visit(trial, look)
    return sealed


def sees_a_newer_key_soon(trial: Trial) -> bool:
    path = keys_file()

    async def look(host: Host) -> bool:
        disk = host.disk
        assert isinstance(disk, SealedDisk)
        Path(path).write_text(line("k1") + line("k2"))
        return await asyncio.to_thread(_becomes_true, lambda: disk.sealing().ring.newest.id == "k2")

    seen: bool = visit(trial, look, {KEYS_FILE: path})
    return seen


def _becomes_true(condition: Callable[[], bool]) -> bool:
    try:
        wait_until(condition, timeout_s=SEEN_WITHIN_S)
    except AssertionError:
        return False
    return True
