"""A source archive is enough: the wheel that is built from it is the one that is built from a checkout, and it runs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.packaging.installed import BUILD_S_MAX, ROOT, Installed, build_wheel

pytestmark = pytest.mark.slow

MAN_PAGE = "share/man/man1/penstock.1"


def build(kind: str, source: Path, into: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(into)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=BUILD_S_MAX)
    (made,) = into.iterdir()
    return made


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_wheel_of_the_archive_is_that_of_the_checkout(tmp_path: Path) -> None:
    archive = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
    assert not (source / ".git").exists()
    again = build("wheel", source, tmp_path / "again")
    assert contents(again) == contents(build_wheel(tmp_path / "wheel"))
    place = Installed(tmp_path / "place", again)
    assert place.run("penstock", "--version").stdout.startswith("penstock ")
    assert place.run("penstock", "sim", "--seeds", "0", "--nodes", "1").returncode == 0
    assert (place.folder / MAN_PAGE).read_bytes() == (ROOT / "docs" / "penstock.1").read_bytes()
