"""The crash matrix of the exactly-once sink: somebody dies at each of its steps, and an independent client counts."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from penstock.testing import Broker
from tests.fresh_seeds import FIRST
from tests.kafka_peer import KafkaPeer
from tests.spark.exactly_once.copying import copying
from tests.spark.exactly_once.crashing import STEPS, VICTIMS

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KILLS = int(os.environ.get("KILLS", "40"))
QUICK = (
    ("recovery", "broker"),
    ("init", "executor"),
    ("produce", "broker"),
    ("flushed", "executor"),
    ("record", "driver"),
    ("between ends", "driver"),
)


def test_six_deaths(tmp_path: Path) -> None:
    with copying(Broker(beside=True), tmp_path) as copy:
        copy.die(QUICK)


@pytest.mark.soak
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("kind", [Broker, pytest.param(KafkaPeer, marks=pytest.mark.java)])
def test_the_whole_matrix(kind: Any, victim: str, tmp_path: Path) -> None:
    broker = Broker(beside=True) if kind is Broker else KafkaPeer()
    with copying(broker, tmp_path) as copy:
        copy.die([(step, victim) for step in STEPS])


@pytest.mark.soak
def test_many_deaths(tmp_path: Path) -> None:
    """`KILLS=200 make soak` for more."""
    dice = random.Random(FIRST)
    with copying(Broker(beside=True), tmp_path) as copy:
        copy.die([(dice.choice(STEPS), dice.choice(VICTIMS)) for _ in range(KILLS)])
