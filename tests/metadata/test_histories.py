"""What was committed is with every leader, whoever dies in whichever order, unless an election says it was unclean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.core.metadata import broker_fencing, registration
from penstock.core.metadata.partition_change import PartitionChange
from penstock.core.metadata.rules import TopicRules
from penstock.core.metadata.sweep import Sweep
from tests.metadata.history import Lost, run

SEEDS, STEPS = range(100), 100


def test_no_leader_lacks_what_was_committed() -> None:
    counts = run(SEEDS, STEPS)
    print(f"\n{len(SEEDS)} histories: {dict(sorted(counts.items()))}")
    for kind in ("committed", "elections", "crashes", "stops", "alterations", "refusals", "unclean"):
        assert counts[kind] >= 10, f"too little happened: {kind}"


def trust_every_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    def returning(*given: Any, was_clean: bool, **named: Any) -> Sweep:
        return broker_fencing.returning(*given, was_clean=True, **named)

    monkeypatch.setattr(registration, "returning", returning)


def keep_the_eligible_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    before = PartitionChange.__init__

    def init(self: PartitionChange, rules: TopicRules, *given: Any) -> None:
        before(self, TopicRules(rules.image, rules.eligible_leaders, 99, rules.unclean), *given)

    monkeypatch.setattr(PartitionChange, "__init__", init)


def elect_anyone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = broker_fencing.rules_for

    def rules(*given: Any) -> TopicRules:
        found = before(*given)
        return TopicRules(found.image, found.eligible_leaders, found.min_insync, True)

    monkeypatch.setattr(broker_fencing, "rules_for", rules)


def forget_the_eligible_of_a_lost_log(monkeypatch: pytest.MonkeyPatch) -> None:
    before = PartitionChange.drop
    monkeypatch.setattr(PartitionChange, "drop", lambda self, broker, *, distrust: before(self, broker, distrust=False))


@pytest.mark.parametrize(
    "plant",
    [
        trust_every_restart,
        keep_the_eligible_too_long,
        elect_anyone,
        forget_the_eligible_of_a_lost_log,
    ],
)
def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]) -> None:
    plant(monkeypatch)
    for seed in range(200):
        try:
            run(range(seed, seed + 1), STEPS)
        except Lost:
            print(f"\n{plant.__name__}: found with seed {seed}")
            return
    pytest.fail(f"{plant.__name__} was not found")
