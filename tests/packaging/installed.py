"""An environment with the built wheel, and beside it exactly what the wheel's metadata asks for and nothing else.

The packages are those of the environment that runs the tests, linked instead of fetched: no network, and no second copy
of Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD_S_MAX = 60.0
RUN_S_MAX = 60.0


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, built without the network."""
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


class Installed:
    """A virtual environment into which pip has put the wheel, and its requirements were linked."""

    def __init__(self, folder: Path, wheel: Path, *extras: str, beside: tuple[str, ...] = ()) -> None:
        self.folder = folder
        venv.create(folder, symlinks=True)
        pip = (sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet")
        _run(*pip, "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check", str(wheel))
        (self._site,) = folder.glob("lib/python*/site-packages")
        (found,) = Distribution.discover(name="penstock", path=[str(self._site)])
        wanted = [*_asked_for(found, set(extras)), *map(Requirement, beside)]
        self.requirements = _closure(wanted)
        for name in self.requirements:
            self._link(distribution(name))

    def run(self, *command: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """A program of this environment."""
        return subprocess.run(
            self._command(command),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=RUN_S_MAX,
            check=False,
            cwd=cwd or self.folder,
            env=self._variables(),
        )

    def start(self, *command: str) -> subprocess.Popen[str]:
        """A program of this environment that goes on, and whose output can be read."""
        return subprocess.Popen(self._command(command), stdout=subprocess.PIPE, text=True, env=self._variables())

    def _command(self, command: tuple[str, ...]) -> list[str]:
        return [str(self.folder / "bin" / command[0]), *command[1:]]

    def _variables(self) -> dict[str, str]:
        """Nothing is inherited from the environment of the tests."""
        return {"PATH": f"{self.folder / 'bin'}{os.pathsep}{os.defpath}", "HOME": str(self.folder)}

    def _link(self, package: Distribution) -> None:
        for entry in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            (self._site / entry).symlink_to(Path(str(package.locate_file(entry))).resolve())


def _closure(wanted: list[Requirement]) -> set[str]:
    """The names of all packages that these ask for, and that those ask for in turn."""
    found: dict[str, set[str]] = {}
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        if name in found and requirement.extras <= found[name]:
            continue
        found.setdefault(name, set()).update(requirement.extras)
        wanted += _asked_for(distribution(name), found[name])
    return set(found)


def _asked_for(package: Distribution, extras: set[str]) -> list[Requirement]:
    given = map(Requirement, package.requires or ())
    return [each for each in given if any(_applies(each, extra) for extra in ("", *extras))]


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=BUILD_S_MAX, cwd=cwd)
