"""What `--help` says: an example of each command that can be typed, and the words that people use for values."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from penstock.cli import app
from penstock.cli.help_pages import EXAMPLES, commands_of, complete_help
from tests.cli.running import Shell

RANGE = re.compile(r"int range|[0-9a-z]<=|>=[0-9]|default: -1")


def all_commands() -> dict[str, Any]:
    app._add_extensions()
    root = typer.main.get_command(app.app)
    complete_help(root)
    return dict(commands_of(root))


COMMANDS = all_commands()


def test_each_command_has_an_example_and_no_example_is_of_none() -> None:
    assert COMMANDS.keys() == EXAMPLES.keys()


@pytest.mark.parametrize("words", EXAMPLES)
def test_an_example_is_understood(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is parsed as if somebody had typed it, and all checks of its values are made."""
    monkeypatch.chdir(tmp_path)
    for name in ("server.properties", "pipelines.py"):
        (tmp_path / name).touch()
    typed = EXAMPLES[words].rpartition("| ")[2]
    called = f"penstock {words} "
    assert f"{typed} ".startswith(called)
    COMMANDS[words].make_context(words, shlex.split(typed[len(called) :]))


@pytest.mark.parametrize("words", EXAMPLES)
def test_help_ends_with_the_example_and_has_no_word_of_the_parser(words: str, shell: Shell) -> None:
    page = shell(*words.split(), "-h").out
    assert page == shell(*words.split(), "--help").out
    assert " ".join(page.split()).endswith(f"Example: {EXAMPLES[words]}")
    assert not RANGE.search(page)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("sim", "--nodes", "0"), "0 is not from 1 to 100"),
        (("cluster", "reassign", "--replication-factor", "0"), "0 is not 1 or more"),
    ],
)
def test_a_number_that_is_out_of_bounds_is_named_with_them(typed: tuple[str, ...], message: str, shell: Shell) -> None:
    failed = shell(*typed)
    assert failed.code == 2
    assert message in failed.err
