"""`penstock down`, `status` and `reset`: what can be done to a cluster's folder from another terminal."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping

from penstock.cli.folder import SECURITY, ClusterFolder, NodeFolder
from penstock.cli.node_settings import address_of, read_settings_file
from penstock.cli.supervising import STOP_SECONDS_MAX
from penstock.cli.talk import Refused, complain, say
from penstock.shell.lock import is_locked

SERVING, STARTING, STOPPED, SILENT, FORMER = "serving", "starting", "stopped", "not answering", "decommissioned"
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
    _await_the_end(folder, nodes)
    say("stopped" if stopped else f"nothing runs in {folder.shown}")
    return 0


def status(data_dir: str, output: str) -> int:
    """Say what runs in a folder; the exit code is 0 only if every node answers."""
    from penstock.cli.output import Output, print_rows

    folder = ClusterFolder(data_dir)
    nodes = folder.require()
    rows = [_status_of(node) for node in nodes]
    print_rows(Output(output), ("node", "state", "pid", "address", "data"), rows)
    wanted = {node: row[1] for node, row in zip(nodes, rows, strict=True) if row[1] != FORMER}
    serving = sum(state == SERVING for state in wanted.values())
    if serving == len(wanted):
        return 0
    return complain(
        f"{serving} of {len(wanted)} node{'' if len(wanted) == 1 else 's'} serving", _advice(folder, wanted)
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


def _await_the_end(folder: ClusterFolder, nodes: list[NodeFolder]) -> None:
    """A cluster that was to keep nothing takes its folder along."""
    deadline = time.monotonic() + DOWN_SECONDS_MAX
    while not any(os.path.exists(node.path) for node in nodes) and os.path.exists(folder.path):
        if time.monotonic() > deadline:
            raise Refused(f"{folder.shown} is still there", "delete it")
        time.sleep(POLL_SECONDS)


def _status_of(node: NodeFolder) -> tuple[int, str, int | None, str | None, str]:
    """A node writes its pid when it can serve; before that only the lock on its data shows that it is on its way."""
    text = node.text()
    pid, address = node.pid_file.holder(), address_of(text)
    if pid is None:
        state = STARTING if is_locked(node.path) else FORMER if node.is_former else STOPPED
    else:
        state = SERVING if address and _answers(address, node.path) else SILENT
    return node.number, state, pid, address, node.path


def _advice(folder: ClusterFolder, states: Mapping[NodeFolder, str]) -> str:
    """What to do about the first node that does not serve."""
    if folder.pid_file.holder() is None and set(states.values()) == {STOPPED}:
        return f"start the cluster with `{folder.command('up')}`"
    node, state = next((node, state) for node, state in states.items() if state != SERVING)
    if state == STOPPED:
        return f"start node {node.number} with: {node.start_command}"
    if state == STARTING:
        return f"node {node.number} is on its way: ask again"
    return f"look at what node {node.number} says, or stop everything with `{folder.command('down')}`"


def _answers(address: str, path: str) -> bool:
    """Whether a node serves us; in a secure cluster, as its admin."""
    from penstock.client.blocking import Client
    from penstock.client.errors import ClientError
    from penstock.client.security import security_of

    way_in = os.path.join(os.path.dirname(path), SECURITY, "client.properties")
    try:
        security = security_of(read_settings_file(way_in) if os.path.exists(way_in) else {})
        with Client(address, client_id="penstock-status", timeout=ANSWER_SECONDS_MAX, security=security) as client:
            client.refresh(())
    except ClientError:
        return False
    return True
