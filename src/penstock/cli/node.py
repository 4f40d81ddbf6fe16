"""`penstock node`: one node in the foreground, with Kafka's settings. Also what `penstock up` starts as a child."""

import os

from penstock.cli.folder import FORMER, is_former
from penstock.cli.node_process import READY_FD_VARIABLE
from penstock.cli.node_settings import parse_assignments, read_settings_file
from penstock.cli.pidfile import PidFile
from penstock.cli.talk import Misused, Refused
from penstock.core.base.settings import BrokerSettings, SettingError

LOG_FORMAT_KEY = "penstock.log.format"


def node(config: str | None, set: list[str], log_format: str | None = None) -> int:
    """Run a node until it is told to stop; the exit code is 0 if it stopped cleanly."""
    if config is None:
        raise Misused(
            "--config is missing", "penstock node --config server.properties; for a local cluster: penstock up"
        )
    said = {} if log_format is None else {LOG_FORMAT_KEY: log_format}
    settings = _settings(read_settings_file(config) | parse_assignments(set) | said)
    if is_former(settings.log_dir):
        raise Refused(
            f"node {settings.node_id} was decommissioned",
            f"delete {settings.log_dir}; or only its file `{FORMER}`, and it comes as a new node",
        )
    pid_file = PidFile(os.path.join(settings.metadata_log_dir, "pid"))

    def on_ready() -> None:
        # Until now the folder may have been empty, and only its lock kept others out.
        pid_file.hold()
        _tell_parent()
        notify("READY=1")

    try:
        from penstock.shell.main import run
        from penstock.shell.sd_notify import notify

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
