"""The child process of `Beside`.

It reads its settings as one line from its standard input, says `ready` and its ports on its standard output, and stops
when it is told to, or when its input ends: a test run that dies takes its nodes along. Each further line is a fault, or
`null`, and is answered with `done`.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys

from penstock.core.base.settings import SettingError
from penstock.core.node.node import Node
from penstock.shell.event_lines import printing
from penstock.shell.lock import FolderLocked
from penstock.shell.main import CannotStart, make_runner
from penstock.testing.faults import Fault, Faults
from penstock.testing.serving import Ports, serve


async def _serve_until_told() -> int:
    settings = json.loads(sys.stdin.buffer.readline())
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)

    def serving(ports: Ports, node: Node) -> None:
        loop.add_reader(sys.stdin.fileno(), _listen, Faults(node), stop)
        print("ready", *ports, flush=True)

    loop.add_reader(sys.stdin.fileno(), stop.set)
    tell = printing(int(settings.get("node.id", "1")))
    return await serve(settings, tell, serving, stop)


def _listen(faults: Faults, stop: asyncio.Event) -> None:
    """Somebody asks for a fault, waits until it is there, and then for another; or has gone."""
    line = sys.stdin.buffer.readline()
    if not line:
        stop.set()
        return
    asked = json.loads(line)
    faults.act(None if asked is None else Fault(*asked))
    print("done", flush=True)


def main() -> int:
    try:
        with make_runner() as runner:
            return runner.run(_serve_until_told())
    except (CannotStart, FolderLocked, SettingError) as failure:
        print(failure, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
