"""The wheel works where only what it asks for is installed, and so does each extra alone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.installed import ROOT, RUN_S_MAX, Installed, build_wheel
from tests.ports import free_base_port

pytestmark = pytest.mark.slow

IMPORT_ALL = """
import importlib, pkgutil, sys
import penstock
names = [each.name for each in pkgutil.walk_packages(penstock.__path__, "penstock.")]
left_out = tuple(sys.argv[1:])
for name in names:
    if not name.startswith(left_out):
        importlib.import_module(name)
print(len(names), penstock.__file__)
"""
NEEDS: dict[str, tuple[str, ...]] = {
    "apply": ("penstock.client.declared.yaml_text",),
    "backup": (),
    "client": ("penstock.api",),
    "console": ("penstock.services.console",),
    "lake": ("penstock.spark", "penstock.spark.lake.delta", "penstock.spark.lake.writing"),
    "query": (),
    "registry": ("penstock.services.registry", "penstock.schemas"),
    "schemas": ("penstock.schemas",),
    "security": ("penstock.shell.aes_gcm", "penstock.shell.sealed_"),
    "spark": ("penstock.spark",),
    "pytest": ("penstock.testing.plugin",),
}
"""Packages, or the beginnings of modules' names, and the extra that brings what they need; or another package."""
ORDERS = ROOT / "examples" / "orders" / "pipelines.py"
FIXTURE_IN_USE = """
from penstock.client.blocking import Client

def test_a_broker_is_there(penstock_broker):
    with Client(penstock_broker.bootstrap) as client:
        penstock_broker.create_topic("orders", partitions=2)
        assert len(client.topic("orders").partitions) == 2
"""


def import_all(place: Installed, *extras: str) -> subprocess.CompletedProcess[str]:
    """Import everything that needs no other extra than these."""
    there = {name for extra in extras for name in NEEDS[extra]}
    left_out = {name for names in NEEDS.values() for name in names} - there
    return place.run("python", "-c", IMPORT_ALL, *left_out)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("plain"), wheel)


@pytest.fixture(scope="module")
def bootstrap(plain: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a cluster listens that the installed program has started."""
    folder, port = tmp_path_factory.mktemp("up") / "data", free_base_port()
    with plain.start("penstock", "up", "--data-dir", str(folder), "--port", str(port)) as up:
        assert up.stdout is not None
        assert up.stdout.readline() == f"ready 127.0.0.1:{port}\n"
        yield f"127.0.0.1:{port}"
        up.terminate()
        assert up.wait(RUN_S_MAX) == 0


def test_a_plain_install_is_slim(plain: Installed) -> None:
    assert {"crc32c", "cramjam", "rich", "typer"} <= plain.requirements
    assert not plain.requirements & {"pydantic", "pydantic-core", "confluent-kafka", "pyspark", "numpy", "pytest"}
    assert len(plain.requirements) <= 12


@pytest.mark.parametrize("name", ["run", "spark"])
def test_what_is_locked_is_no_more_than_that(name: str) -> None:
    assert "pydantic" not in (ROOT / "requirements" / f"{name}.lock").read_text()


def test_everything_but_extras_can_be_imported_from_a_plain_install(plain: Installed) -> None:
    ended = import_all(plain)
    assert ended.returncode == 0, ended.stderr
    assert str(plain.folder) in ended.stdout


def test_a_plain_install_starts_a_node_and_talks_to_it(plain: Installed, bootstrap: str) -> None:
    assert plain.run("penstock", "--version").stdout.startswith("penstock ")
    there = ("--bootstrap", bootstrap)
    assert plain.run("penstock", "produce", "greetings", *there, stdin="hello\n").returncode == 0
    assert plain.run("penstock", "consume", "greetings", *there).stdout == "hello\n"


def test_reading_as_a_group_without_the_client_is_one_line(plain: Installed, bootstrap: str) -> None:
    assert plain.run("penstock", "topic", "create", "grouped", "--bootstrap", bootstrap).returncode == 0
    ended = plain.run("penstock", "consume", "grouped", "--group", "readers", "--bootstrap", bootstrap)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines() == [
        "penstock: reading as a member of a group needs confluent-kafka, which is not installed",
        "  pip install 'penstock[client]'",
    ]


def test_files_of_clusters_without_yaml_are_one_line(plain: Installed) -> None:
    ended = plain.run("penstock", "export")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines() == [
        "penstock: files of clusters are read by PyYAML, which is not installed",
        "  pip install 'penstock[apply]'",
    ]


def test_pipelines_without_spark_are_one_line(plain: Installed) -> None:
    ended = plain.run("penstock", "pipeline", "list", "--from", str(ORDERS))
    assert (ended.returncode, ended.stdout) == (1, "")
    (line,) = ended.stderr.splitlines()
    assert line.endswith("needs pyspark, which is not installed: pip install 'penstock[spark]'")


@pytest.mark.client
def test_the_client_alone_reads_as_a_group(wheel: Path, bootstrap: str, tmp_path: Path) -> None:
    with_client = Installed(tmp_path / "client", wheel, "client")
    assert "confluent-kafka" in with_client.requirements
    there = ("--bootstrap", bootstrap)
    assert with_client.run("penstock", "produce", "counted", *there, stdin="one\n").returncode == 0
    assert with_client.run("penstock", "consume", "counted", "--group", "g", *there).stdout == "one\n"


@pytest.mark.parametrize("extra", [each for each in NEEDS if each != "pytest"])
def test_each_extra_alone_has_all_it_needs(wheel: Path, tmp_path: Path, extra: str) -> None:
    place = Installed(tmp_path / extra, wheel, extra)
    assert ("confluent-kafka" in place.requirements) == (extra in ("client", "console"))
    ended = import_all(place, extra)
    assert ended.returncode == 0, ended.stderr
    if extra == "spark":
        assert place.run("python", "-c", "import pyspark_penstock").returncode == 0
        listed = place.run("penstock", "pipeline", "list", "--from", str(ORDERS))
        assert listed.returncode == 0, listed.stderr


def test_certificates_need_the_extra_that_brings_them(plain: Installed, wheel: Path, tmp_path: Path) -> None:
    make = ("penstock", "cert", "ca", "--dir", str(tmp_path / "certs"))
    refused = plain.run(*make)
    assert (refused.returncode, "pip install 'penstock[security]'" in refused.stderr) == (1, True), refused.stderr
    assert Installed(tmp_path / "security", wheel, "security").run(*make).returncode == 0


def test_the_fixtures_need_pytest_and_nothing_else(wheel: Path, tmp_path: Path) -> None:
    with_pytest = Installed(tmp_path / "pytest", wheel, beside=("pytest",))
    (tmp_path / "test_orders.py").write_text(FIXTURE_IN_USE)
    ended = with_pytest.run("python", "-m", "pytest", "-q", "-W", "error", "test_orders.py", cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout
