"""The files of `penstock generate`: each is what the program wants that reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from penstock.cli.generating.dashboards import as_json, boards
from penstock.core.base.settings import BrokerSettings
from tests.cli.running import Shell
from tests.monitoring.tools import promtool, run, systemd_analyze

ROOT = Path(__file__).resolve().parents[2]
RUNBOOKS = ROOT / "docs" / "runbooks"


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(capfd, monkeypatch)


def made(shell: Shell, file: Path, *arguments: str) -> Path:
    result = shell("generate", *arguments, "--file", str(file))
    assert result.code == 0, result.err
    return file


@pytest.mark.slow
def test_prometheus_takes_rules_and_configuration(shell: Shell, tmp_path: Path) -> None:
    made(shell, tmp_path / "penstock-rules.yml", "rules")
    run(promtool(), "check", "rules", "penstock-rules.yml", cwd=tmp_path)
    (tmp_path / "password").write_text("secret")
    (tmp_path / "ca.pem").write_text("")
    access = ("--user", "scraper", "--password-file", "password", "--ca", "ca.pem")
    for number, more in enumerate(((), access, ("--detail", "small", "--interval", "5s"))):
        name = f"prometheus-{number}.yml"
        made(shell, tmp_path / name, "scrape", "-t", "127.0.0.1:11092", "-t", "host-2:11092", *more)
        run(promtool(), "check", "config", "--syntax-only", name, cwd=tmp_path)


@pytest.mark.slow
def test_systemd_takes_the_unit(shell: Shell, tmp_path: Path) -> None:
    executable = tmp_path / "penstock"
    executable.write_text("#!/bin/sh\n")
    executable.chmod(0o755)
    unit = made(shell, tmp_path / "penstock@1.service", "systemd", "--exec", str(executable), "--user", "root")
    assert run(systemd_analyze(), "verify", unit) == ""


def test_nodes_take_the_settings_of_the_compose_file(shell: Shell, tmp_path: Path) -> None:
    text = made(shell, tmp_path / "compose.yaml", "compose", "--nodes", "5").read_text()
    services, _, configs = text.partition("\nconfigs:\n")
    told = re.findall(r"  (node-\d): *\n    content: \|\n((?:      \S+\n)+)", configs)
    assert len(told) == 5
    for number, (name, lines) in enumerate(told, 1):
        settings = BrokerSettings(dict(line.strip().split("=", 1) for line in lines.splitlines()))
        assert (name, settings.node_id) == (f"node-{number}", number)
        assert settings["default.replication.factor"] == 3
        outside = next(each for each in settings.listeners.advertised if each.name == "OUTSIDE")
        assert f"127.0.0.1:{outside.port}:{outside.port}" in services
        assert f"{{source: {name}, target: /etc/penstock/server.properties}}" in services
        assert f"\n  {name}: {{}}\n" in configs


def test_the_image_runs_without_root(shell: Shell, tmp_path: Path) -> None:
    lines = made(shell, tmp_path / "Containerfile", "containerfile").read_text().splitlines()
    instructions = [line.split()[0] for line in lines if re.match(r"[A-Z]+ ", line)]
    assert instructions.index("USER") < instructions.index("ENTRYPOINT")
    (user,) = [line for line in lines if line.startswith("USER ")]
    assert not user.endswith((" root", " 0"))


def test_nothing_is_written_over(shell: Shell, tmp_path: Path) -> None:
    file = made(shell, tmp_path / "rules.yml", "rules")
    result = shell("generate", "rules", "--file", str(file))
    assert (result.code, result.out) == (1, "")
    assert "exists" in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("rules", "--job", 'a"b'),
        ("scrape", "--target", "nowhere"),
        ("scrape", "--interval", "often"),
        ("scrape", "--user", "scraper"),
        ("systemd", "--exec", "penstock"),
        ("compose", "--nodes", "0"),
    ],
)
def test_what_makes_no_sense_is_refused(shell: Shell, arguments: tuple[str, ...]) -> None:
    result = shell("generate", *arguments)
    assert (result.code, result.out) == (2, "")
    assert len(result.err.splitlines()) <= 2


def test_dashboards_are_what_grafana_imports() -> None:
    for board in boards():
        told = json.loads(as_json(board))
        numbers = [panel["id"] for panel in told["panels"]]
        assert len(set(numbers)) == len(numbers)
        places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in told["panels"]]
        assert len(set(places)) == len(places), "panels lie on each other"
        assert {variable["name"] for variable in told["templating"]["list"]} == {"datasource", "job"}


def test_each_alert_has_its_page(shell: Shell) -> None:
    index = (RUNBOOKS / "README.md").read_text()
    pages = set()
    rules = re.findall(r"- alert: (\w+).*?runbook: (\S+)", shell("generate", "rules").out, re.DOTALL)
    assert len(rules) > 10
    for alert, runbook in rules:
        page = ROOT / runbook
        pages.add(page.name)
        assert alert in page.read_text().splitlines()[0], alert
        assert alert in index
    assert pages | {"README.md"} == {each.name for each in RUNBOOKS.iterdir()}
