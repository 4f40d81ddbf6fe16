"""Where a node's keys come from: a file, or a command that asks whoever keeps them."""

from __future__ import annotations

import asyncio
import os
import shlex
import stat
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from penstock.core.sealing.keys import KeyFault, KeyRing, read_keys

if TYPE_CHECKING:
    from penstock.core.sealing.sealed_file import Seals

FILE: Final = "penstock.encryption.keys.file"
COMMAND: Final = "penstock.encryption.keys.command"
COMMAND_S_MAX: Final = 30
_FILE_BYTES_MAX: Final = 1 << 20


class Given(Protocol):
    """Settings, as far as they are needed here."""

    def __getitem__(self, name: str, /) -> object: ...


class KeySource(NamedTuple):
    """One of both is named."""

    file: str
    command: str

    def read(self) -> KeyRing:
        """All keys; a KeyFault says in one line why there are none, and shows none."""
        if self.file:
            return read_keys(_content(self.file), self.file)
        return read_keys(_output(self.command), f"what `{_program(self.command)}` prints")

    @property
    def setting(self) -> str:
        """Which one names it."""
        return FILE if self.file else COMMAND

    @property
    def is_open(self) -> bool:
        """Whether others than its owner may read the file."""
        return bool(self.file) and bool(os.stat(self.file).st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def key_source(settings: Given) -> KeySource | None:
    """None where nothing is encrypted."""
    source = KeySource(str(settings[FILE]), str(settings[COMMAND]))
    return source if source.file or source.command else None


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(_FILE_BYTES_MAX)
    except OSError as failure:
        raise KeyFault(f"cannot read the keys in {path}: {failure.strerror}; {FILE} names the file") from None
    except UnicodeDecodeError:
        raise KeyFault(f"{path} is no text; {FILE} names a file with a key in each line") from None


def _program(command: str) -> str:
    """Its arguments may be nobody's business."""
    return shlex.split(command)[0]


def _output(command: str) -> str:
    try:
        done = subprocess.run(
            shlex.split(command), stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_S_MAX, check=False
        )
    except (OSError, ValueError) as failure:
        raise KeyFault(f"cannot run the command for keys ({failure}); {COMMAND} names it") from None
    except subprocess.TimeoutExpired:
        raise KeyFault(f"`{_program(command)}` gave no keys within {COMMAND_S_MAX} s; {COMMAND} names it") from None
    if done.returncode != 0:
        raise KeyFault(f"`{_program(command)}` ended with {done.returncode} and gave no keys; {COMMAND} names it")
    return done.stdout.decode(errors="replace")


class Keys:
    """The keys that are at hand in this process: read at the start, and looked at again while it runs."""

    def __init__(self, source: KeySource) -> None:
        if find_spec("cryptography") is None:
            raise KeyFault("to encrypt what is kept needs a library: pip install 'penstock[security]'")
        from penstock.core.sealing.sealed_file import Seals
        from penstock.shell.aes_gcm import AesGcm
        from penstock.shell.entropy import SystemEntropy

        self._source = source
        self._seals = Seals(source.read(), AesGcm, SystemEntropy())

    def __call__(self) -> Seals:
        return self._seals

    @property
    def ring(self) -> KeyRing:
        return self._seals.ring

    @property
    def is_open(self) -> bool:
        return self._source.is_open

    def refresh(self) -> str | None:
        """Take newer keys; says what has changed, if something has."""
        before, given = self.ring, self._source.read()
        changed = before.other_than(given)
        if changed:
            raise KeyFault(f"{', '.join(changed)} would be another key than before: give a new one a new name")
        self._seals = self._seals._replace(ring=before.joined(given))
        if given.newest.id == before.newest.id:
            return None
        return f"new files are encrypted under the key {given.newest.id}; those under {before.newest.id} keep it"


class Refreshing:
    """Looks for newer keys as long as a node runs, in a thread, because a command takes its time."""

    def __init__(self, keys: Keys, every_ms: int, tell: Callable[[str, str], None]) -> None:
        self._keys = keys
        self._every_s = every_ms / 1000
        self._tell = tell
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="keys")
        self._is_failing = False
        self._waiting: asyncio.TimerHandle | None = None
        self._wait()

    def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _wait(self) -> None:
        self._waiting = asyncio.get_running_loop().call_later(self._every_s, self._begin)

    def _begin(self) -> None:
        asking = asyncio.get_running_loop().run_in_executor(self._thread, self._keys.refresh)
        asking.add_done_callback(self._done)

    def _done(self, asked: asyncio.Future[str | None]) -> None:
        if asked.cancelled():
            return
        fault = asked.exception()
        if fault is not None and not self._is_failing:
            self._tell("warning", f"goes on with the keys it has: {fault}")
        news = None if fault is not None else asked.result()
        if news is not None:
            self._tell("info", news)
        self._is_failing = fault is not None
        self._wait()
