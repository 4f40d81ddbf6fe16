"""The child process of `Beside`.

It reads its settings as one line from its standard input, says `ready` and its ports on its standard output, and stops
when it is told to, or when its input ends: a test run that dies takes its nodes along.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys

from penstock.core.base.settings import SettingError
from penstock.shell.lock import FolderLocked
from penstock.shell.main import CannotStart, make_runner
from penstock.testing.serving import serve


async def _serve_until_told() -> int:
    settings = json.loads(sys.stdin.buffer.readline())
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_reader(sys.stdin.fileno(), stop.set)
    return await serve(settings, _note, lambda ports: print("ready", *ports, flush=True), stop)


def _note(level: str, text: str) -> None:
    print(f"{level}: {text}", file=sys.stderr, flush=True)


def main() -> int:
    try:
        with make_runner() as runner:
            return runner.run(_serve_until_told())
    except (CannotStart, FolderLocked, SettingError) as failure:
        print(failure, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
