"""Runs the tests over a mutant, from the quickest to the most thorough, until one of them fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutants.making import Mutant

QUICK: Final = "not slow and not java and not client and not spark and not soak"
STAGE_S_MAX: Final = 600.0
LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", ".cache", "*.pyc")
SEEDS: Final = (
    "import sys\n"
    "from {module} import {run}\n"
    "for seed in range({first}, {first} + {count}):\n"
    "    failure = {call}.failure\n"
    "    if failure is not None: sys.exit(f'seed {{seed}}: {{failure!r}}')\n"
)


@dataclass(frozen=True, slots=True)
class Stage:
    """Something to run: a name, and the arguments of the interpreter."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant; `by` is empty if it survived."""

    by: str
    says: str
    seconds: float


def stages_for(package: str, seeds: int) -> tuple[Stage, ...]:
    """The package's own tests, then those of what stands on it, then worlds."""
    quick = _tests("its quick tests", f"tests/{package}", "-m", QUICK)
    # Planted bugs are looked for in another program than this one.
    slow = _tests("its slow tests", f"tests/{package}", "-m", "slow and not soak", "-k", "not planted")
    log = _seeds("seeds of the log", "penstock.sim.log_scenario", "run_log_seed", "run_log_seed(seed)", seeds)
    node = _seeds("seeds of a node", "penstock.sim.run", "run_seed", "run_seed(seed)", seeds)
    voters = _seeds("seeds of voters", "penstock.sim.voters.scenario", "run_voters", "run_voters(seed)", seeds)
    cluster = _seeds("seeds of a cluster", "penstock.sim.run", "Plan", "Plan(range(1), 3).run(seed)", seeds)
    worlds = {"log": (log, node, cluster), "raft": (voters, cluster), "partition": (node, cluster)}
    return (quick, *worlds[package], slow)


def _tests(name: str, *arguments: str) -> Stage:
    return Stage(name, ("-m", "pytest", "-q", "-x", "-n", "0", *arguments))


def _seeds(name: str, module: str, run: str, call: str, count: int) -> Stage:
    return Stage(name, ("-c", SEEDS.format(module=module, run=run, call=call, first=0, count=count)))


class Ground:
    """A copy of the tree in which one file at a time is another one."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._folder = folder
        for name in ("src", "tests", "bench", "pyproject.toml"):
            source = root / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=LEFT_OUT)
            else:
                shutil.copy(source, folder / name)

    def hunt(self, mutant: Mutant, seeds: int) -> Verdict:
        file = self._folder / mutant.path
        honest = file.read_text()
        file.write_text(mutant.applied(honest))
        try:
            return self._hunt(stages_for(mutant.package, seeds))
        finally:
            file.write_text(honest)

    def check(self, package: str) -> Verdict:
        """The quick tests without a mutant: nothing may fail."""
        return self._hunt(stages_for(package, 0)[:1])

    def _hunt(self, stages: tuple[Stage, ...]) -> Verdict:
        began = time.monotonic()
        for stage in stages:
            says = self._run(stage)
            if says is not None:
                return Verdict(stage.name, says, time.monotonic() - began)
        return Verdict("", "", time.monotonic() - began)

    def _run(self, stage: Stage) -> str | None:
        """What a stage has to complain of; None if nothing."""
        environment = os.environ | {
            "PYTHONPATH": f"{self._folder / 'src'}{os.pathsep}{self._folder}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        try:
            done = subprocess.run(
                [sys.executable, *stage.arguments],
                cwd=self._folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=STAGE_S_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "it hangs"
        if done.returncode == 0:
            return None
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        telling = [line for line in lines if line.startswith(("FAILED", "ERROR", "seed "))]
        return (telling or lines or ["no word"])[-1][:200]
