"""`penstock node`: one node in the foreground, with Kafka's settings. Also what `penstock up` starts as a child."""

import os

from penstock.cli.node_process import READY_FD_VARIABLE
from penstock.cli.node_settings import parse_assignments, read_settings_file
from penstock.cli.pidfile import Held, PidFile
from penstock.cli.talk import Refused, complain, say
from penstock.core.base.settings import BrokerSettings, SettingError

USAGE = 2


def node(config: str | None, set: list[str]) -> int:
    """Run a node until it is told to stop; the exit code is 0 if it stopped cleanly."""
    if config is None:
        complain("--config is missing", "penstock node --config server.properties; for a local cluster: penstock up")
        return USAGE
    settings = _settings(read_settings_file(config) | parse_assignments(set))
    for warning in settings.warnings:
        say(f"penstock: {warning}")
    pid_file = _hold(settings.metadata_log_dir)
    try:
        from penstock.shell.main import run

        return run(settings, _tell_parent)
    finally:
        pid_file.release()


def _settings(values: dict[str, str]) -> BrokerSettings:
    try:
        return BrokerSettings(values)
    except SettingError as failure:
        raise Refused(
            "; ".join(failure.problems), "change the setting; `penstock config check FILE` says what each one does here"
        ) from None


def _hold(folder: str) -> PidFile:
    """One process per data folder; whoever comes second is told who was first."""
    try:
        os.makedirs(folder, exist_ok=True)
        pid_file = PidFile(os.path.join(folder, "pid"))
        pid_file.hold()
    except Held as held:
        raise Refused(
            f"the data folder {folder} is in use (process {held.pid})",
            "stop that node first, or choose another log.dirs",
        ) from None
    except OSError as failure:
        raise Refused(f"cannot use the data folder {folder}: {failure.strerror}", "check log.dirs") from None
    return pid_file


def _tell_parent() -> None:
    """Say on the pipe that `penstock up` listens to that this node can serve."""
    if (text := os.environ.pop(READY_FD_VARIABLE, None)) is not None:
        os.write(int(text), b"\n")
        os.close(int(text))
