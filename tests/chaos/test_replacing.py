"""Nodes of a former commit give way to today's while everybody works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.replacing import FORMER, former_program, run

SECONDS_MAX = 120


@pytest.mark.slow
@pytest.mark.client
@pytest.mark.soak
@pytest.mark.timeout(SECONDS_MAX)
@pytest.mark.parametrize("killed", [None, 2], ids=["all are stopped", "one is killed"])
def test_one_by_one_under_load(tmp_path: Path, killed: int | None) -> None:
    outcome = run(tmp_path, former_program(FORMER, tmp_path), killed)
    print(outcome)
    assert outcome.complaints == []
    assert outcome.records
    assert outcome.commits
