"""`penstock sim`: what it prints, and what it says of what cannot be run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.sim.invariants.base import Violation
from penstock.sim.report import Report
from penstock.sim.run import Plan, Tally, describe


@pytest.mark.slow
def test_a_cluster_runs_in_a_storm_of_ones_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    storm = tmp_path / "storm"
    storm.write_text("at 5 s cut 1-2 for 3 s\nat 10 s crash 3 for 1 s\n")
    assert main(["sim", "--seeds", "1", "--nodes", "3", "--storm", str(storm), "--output", "json"]) == 0
    facts = json.loads(capfd.readouterr().out)
    assert facts["failed"] is None
    assert facts["factor"] > 1
    assert facts["simulated_s"] >= 60
    assert (facts["counts"]["fault-cut"], facts["counts"]["fault-crash"]) == (1, 1)
    assert "fault-pause" not in facts["counts"]


@pytest.mark.slow
def test_one_node_runs_and_the_factor_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--seeds", "3", "--verbose"]) == 0
    told = capfd.readouterr()
    assert "records-acknowledged" in told.out
    assert "times real time" in told.err
    assert "seed 3: " in told.err


@pytest.mark.slow
def test_the_last_line_is_the_verdict(capfd: pytest.CaptureFixture[str]) -> None:
    """Also of so few seeds that some kind of trouble did not come."""
    assert main(["sim", "--seeds", "0-1"]) == 0
    told = capfd.readouterr().out.splitlines()[-1]
    assert told.startswith("KEPT: no promise was broken in 2 seeds, ")
    assert "these seeds did not bring" in told


def test_a_broken_promise_is_the_verdict() -> None:
    tally = Tally()
    tally.add(Report(7, "", Counter(), 5, Violation("a record is gone"), ("last",), 3))
    lines: list[str] = []
    assert describe(Plan(range(9), idle=True), tally, lines.append) == 1
    assert lines[0] == "last\n"
    assert "a record is gone" in lines[-2]
    assert lines[-1] == "BROKEN: seed 7 shows how; it is repeated by `penstock sim --seeds 7 --idle`\n"


@pytest.mark.slow
def test_a_cluster_at_rest_elects_once(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "--seeds", "1", "--nodes", "3", "--idle", "--output", "json"]) == 0
    facts = json.loads(capfd.readouterr().out)
    assert facts["simulated_s"] >= 600
    assert facts["counts"]["elections"] == 1
    assert "in-sync-shrinks" not in facts["counts"]


@pytest.mark.parametrize(
    ("arguments", "why", "code"),
    [
        (["--seeds", "many"], "is not a seed", 2),
        (["--seeds", "9-1"], "has no seed in it", 2),
        (["--storm", "STORM"], "needs several machines", 2),
        (["--nodes", "3", "--storm", "nowhere"], "cannot be read", 1),
        (["--nodes", "3", "--storm", "STORM"], "not a fault: rain", 1),
        (["--nodes", "3", "--storm", "FAR"], "there are 3 machines", 1),
    ],
)
def test_what_cannot_be_run_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], why: str, code: int
) -> None:
    (tmp_path / "STORM").write_text("rain\n")
    (tmp_path / "FAR").write_text("at 1 s crash 4 for 1 s\n")
    given = [str(tmp_path / each) if each in ("STORM", "FAR", "nowhere") else each for each in arguments]
    assert main(["sim", *given]) == code
    assert why in capfd.readouterr().err
