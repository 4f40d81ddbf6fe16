"""Whoever answers nothing is given as long as `--timeout` says, by every command that has it."""

import shlex
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.help_pages import EXAMPLES
from penstock.client.errors import GREETING, TimedOut
from tests.cli.running import Shell
from tests.cli.test_help import COMMANDS

TIMEOUT_S = 0.1
WITH_TIMEOUT = [words for words in EXAMPLES if "timeout" in {each.name for each in COMMANDS[words].params}]
DECLARED = ("apply", "pipeline verify")
"""They look for the file of their example first, and ask nobody where there is none."""
GOES_ON = "debug bundle"
"""Whoever does not answer is what it tells of."""


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """Takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=len(WITH_TIMEOUT)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_nearly_all_commands_of_a_running_cluster_have_one() -> None:
    asking = {words for words in EXAMPLES if "bootstrap" in {each.name for each in COMMANDS[words].params}}
    assert asking - set(WITH_TIMEOUT) <= {"pipeline run", "pipeline lake", "pipeline explain", "registry", "console"}


@pytest.mark.slow  # A tenth of a second each, and there are many.
@pytest.mark.parametrize("words", [words for words in WITH_TIMEOUT if words not in (*DECLARED, GOES_ON)])
def test_a_broker_that_says_nothing_is_given_up(
    words: str, silent: str, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = shlex.split(EXAMPLES[words].rpartition("| ")[2])[1:]
    failed = shell(*typed, "--bootstrap", silent, "--timeout", str(TIMEOUT_S))
    assert (failed.code, failed.out) == (1, "")
    said = failed.err.splitlines()
    assert f"penstock: {silent} did not answer ApiVersions within {TIMEOUT_S} s" in said


def test_who_has_greeted_is_a_broker() -> None:
    """Without a controller it serves, but gives no ids to producers: nobody is sent to look whether it listens."""
    assert "that a broker listens there" in str(TimedOut("b:1", GREETING, 4).hint)
    assert str(TimedOut("b:1", "InitProducerId", 4).hint).startswith("see `penstock cluster health`")
