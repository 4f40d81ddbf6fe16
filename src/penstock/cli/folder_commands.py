"""`penstock down`, `status` and `reset`: what can be done to a cluster's folder from another terminal."""

import os
import shutil
import signal
import time
from collections.abc import Callable

from penstock.cli.folder import ClusterFolder, NodeFolder
from penstock.cli.node_settings import address_of
from penstock.cli.supervising import STOP_SECONDS_MAX
from penstock.cli.talk import Refused, complain, say
from penstock.shell.lock import is_locked

SERVING, STARTING, STOPPED, SILENT = "serving", "starting", "stopped", "not answering"
POLL_SECONDS = 0.02
# `up` itself waits for its nodes before it gives up; whoever waits for `up` waits a little longer.
DOWN_SECONDS_MAX = STOP_SECONDS_MAX + 5.0
ANSWER_SECONDS_MAX = 1.0


def down(data_dir: str) -> int:
    """Stop what runs in a folder: the `up` that holds it, nodes that have joined, and those started by themselves."""
    folder = ClusterFolder(data_dir)
    nodes = folder.require()
    stopped = stop_process(folder.pid_file.holder)
    for node in nodes:
        stopped |= stop_process(node.up_file.holder)
        stopped |= stop_process(node.pid_file.holder)
    say("stopped" if stopped else f"nothing runs in {folder.shown}")
    return 0


def status(data_dir: str, output: str) -> int:
    """Say what runs in a folder; the exit code is 0 only if every node answers."""
    from penstock.cli.output import Output, print_rows

    folder = ClusterFolder(data_dir)
    nodes = folder.require()
    rows = [_status_of(node) for node in nodes]
    print_rows(Output(output), ("node", "state", "pid", "address", "data"), rows)
    serving = sum(row[1] == SERVING for row in rows)
    if serving == len(rows):
        return 0
    return complain(
        f"{serving} of {len(rows)} node{'' if len(rows) == 1 else 's'} serving",
        _advice(folder, nodes, [row[1] for row in rows]),
    )


def reset(data_dir: str, yes: bool) -> int:
    """Delete the data of a cluster that is stopped."""
    folder = ClusterFolder(data_dir)
    nodes = folder.require()
    folder.refuse_strangers()
    pids = [pid for pid in (folder.pid_file.holder(), *(node.runner() for node in nodes)) if pid]
    if pids:
        raise Refused(f"{folder.shown} is in use (process {pids[0]})", f"stop it first: {folder.command('down')}")
    if not yes:
        raise Refused(f"this deletes everything in {folder.shown}", "say that you mean it with --yes")
    for node in nodes:
        shutil.rmtree(node.path)
    shutil.rmtree(folder.path)
    say(f"deleted {folder.shown}")
    return 0


def stop_process(holder: Callable[[], int | None]) -> bool:
    """Ask the process that holds a pid file to stop and wait until it has; False if there was none."""
    pid = holder()
    if pid is None:
        return False
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return True
    except PermissionError:
        raise Refused(f"process {pid} belongs to somebody else", "stop it as that user") from None
    deadline = time.monotonic() + DOWN_SECONDS_MAX
    while holder() == pid:
        if time.monotonic() > deadline:
            raise Refused(f"process {pid} does not stop", f"look at what it says, or end it with: kill -9 {pid}")
        time.sleep(POLL_SECONDS)
    return True


def _status_of(node: NodeFolder) -> tuple[int, str, int | None, str | None, str]:
    """A node writes its pid when it can serve; before that only the lock on its data shows that it is on its way."""
    pid, address = node.pid_file.holder(), address_of(node.text())
    if pid is None:
        state = STARTING if is_locked(node.path) else STOPPED
    else:
        state = SERVING if address and _answers(address) else SILENT
    return node.number, state, pid, address, node.path


def _advice(folder: ClusterFolder, nodes: list[NodeFolder], states: list[str]) -> str:
    """What to do about the first node that does not serve."""
    if folder.pid_file.holder() is None and set(states) == {STOPPED}:
        return f"start the cluster with `{folder.command('up')}`"
    node, state = next((node, state) for node, state in zip(nodes, states, strict=True) if state != SERVING)
    if state == STOPPED:
        return f"start node {node.number} with: {node.start_command}"
    if state == STARTING:
        return f"node {node.number} is on its way: ask again"
    return f"look at what node {node.number} says, or stop everything with `{folder.command('down')}`"


def _answers(address: str) -> bool:
    from penstock.client.blocking import Client
    from penstock.client.errors import ClientError

    try:
        with Client(address, client_id="penstock-status", timeout=ANSWER_SECONDS_MAX) as client:
            client.refresh(())
    except ClientError:
        return False
    return True
