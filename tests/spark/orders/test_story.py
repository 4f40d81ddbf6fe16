"""What `make demo` plays comes to its verdict: every order in every branch, through a spike, an outage and a kill."""

import subprocess
import sys

import pytest

from tests.spark.environment import ROOT

pytestmark = [pytest.mark.spark, pytest.mark.soak]

STORY_S_MAX = 900


def test_nothing_is_lost_in_the_story() -> None:
    command = [sys.executable, "-m", "examples.orders.story"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=STORY_S_MAX, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing was lost and nothing written twice" in " ".join(done.stdout.split())
