"""What the shell offers when tab is pressed: commands, options, and the names that the cluster knows."""

import pytest

from tests.cli.running import Shell


def offered(shell: Shell, monkeypatch: pytest.MonkeyPatch, line: str) -> list[str]:
    with monkeypatch.context() as patch:
        patch.setenv("_PENSTOCK_COMPLETE", "complete_bash")
        patch.setenv("COMP_WORDS", line)
        patch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        return shell().out.split()


def test_commands_and_options(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered(shell, monkeypatch, "penstock gr") == ["group"]
    assert offered(shell, monkeypatch, "penstock topic de") == ["describe", "delete", "delete-records"]
    assert offered(shell, monkeypatch, "penstock up --res") == ["--restart"]
    assert offered(shell, monkeypatch, "penstock produce t --codec z") == ["zstd"]


def test_names_of_topics_and_groups(penstock: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    penstock("topic", "create", "tabbed-one")
    penstock("topic", "create", "tabbed-two")
    penstock("group", "reset", "tabbing", "--topic", "tabbed-one", "--to", "earliest", "--execute")
    assert offered(penstock, monkeypatch, "penstock consume tabbed") == ["tabbed-one", "tabbed-two"]
    assert offered(penstock, monkeypatch, "penstock group describe tabb") == ["tabbing"]


def test_without_a_cluster_nothing_is_offered_and_nothing_is_said(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_BOOTSTRAP", "127.0.0.1:1")
    assert offered(shell, monkeypatch, "penstock consume t") == []
