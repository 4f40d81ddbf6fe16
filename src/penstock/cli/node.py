"""`penstock node`: one node in the foreground, with Kafka's settings. Also what `penstock up` starts as a child."""

import os

from penstock.cli.node_process import READY_FD_VARIABLE
from penstock.cli.node_settings import parse_assignments, read_settings_file
from penstock.cli.pidfile import PidFile
from penstock.cli.plain import USAGE
from penstock.cli.talk import Refused, complain, say
from penstock.core.base.settings import BrokerSettings, SettingError


def node(config: str | None, set: list[str]) -> int:
    """Run a node until it is told to stop; the exit code is 0 if it stopped cleanly."""
    if config is None:
        complain("--config is missing", "penstock node --config server.properties; for a local cluster: penstock up")
        return USAGE
    settings = _settings(read_settings_file(config) | parse_assignments(set))
    for warning in settings.warnings:
        say(f"penstock: {warning}")
    pid_file = PidFile(os.path.join(settings.metadata_log_dir, "pid"))

    def on_ready() -> None:
        # Until now the folder may have been empty, and only its lock kept others out.
        pid_file.hold()
        _tell_parent()

    try:
        from penstock.shell.main import run

        return run(settings, on_ready)
    finally:
        pid_file.release()


def _settings(values: dict[str, str]) -> BrokerSettings:
    try:
        return BrokerSettings(values)
    except SettingError as failure:
        raise Refused(
            "; ".join(failure.problems), "change the setting; `penstock config check FILE` says what each one does here"
        ) from None


def _tell_parent() -> None:
    """Say on the pipe that `penstock up` listens to that this node can serve."""
    if (text := os.environ.pop(READY_FD_VARIABLE, None)) is not None:
        os.write(int(text), b"\n")
        os.close(int(text))
