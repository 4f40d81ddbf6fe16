"""Errands as text: what is written is read back, what says nothing is refused, and drawn ones leave nothing at risk."""

from __future__ import annotations

import pytest

from penstock.sim import errands as errands_module
from penstock.sim.chance import Chance
from penstock.sim.cluster_spec import draw_cluster, parse_happenings
from penstock.sim.errands import KINDS, Errand, Errands, parse_errand
from penstock.sim.events import Partition
from penstock.sim.scheduler import SECOND
from penstock.sim.storm import BadStorm, Fault

PARTITIONS = (Partition("kept", 0), Partition("kept", 1))


def test_lines_are_faults_or_errands() -> None:
    faults, errands = parse_happenings(
        "at 1 s crash 2 for 3 s\nat 2 s reassign kept-1 to 2,3  # away\n\nat 3 s set kept segment.ms to 5000\n"
    )
    assert faults == (Fault(1 * SECOND, "crash", 2, for_us=3 * SECOND),)
    assert errands == (
        Errand(2 * SECOND, "reassign", "kept-1", value="2,3"),
        Errand(3 * SECOND, "set", "kept", "segment.ms", "5000"),
    )
    assert errands[0].partition == Partition("kept", 1)
    assert [errand.topic for errand in errands] == ["kept", "kept"]


def test_the_lines_in_the_module_s_own_words_are_errands() -> None:
    assert errands_module.__doc__ is not None
    examples = [line.strip().partition("   ")[0] for line in errands_module.__doc__.splitlines() if "    at " in line]
    assert {parse_errand(line).kind for line in examples} == KINDS


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("at 1 s reassign kept to 1,2", "needs a partition"),
        ("at 1 s reassign kept-0", "says to what"),
        ("at 1 s reassign kept-0 to all", "names machines"),
        ("at 1 s grow grown to many", "names a number"),
        ("at 1 s set kept to 5", "names a setting"),
        ("at 1 s elect kept-0 to 2", "has no value"),
        ("at 1 s drain kept-0", "needs a machine"),
        ("at 1 s delete kept segment.ms", "has no setting"),
        ("at one s delete kept", "not a time"),
        ("at 1 s delete", "not an errand"),
    ],
)
def test_a_line_that_says_nothing_is_refused(line: str, why: str) -> None:
    with pytest.raises(BadStorm, match=why):
        parse_happenings(line)


def test_drawn_ones_are_lines_too_and_have_everything_in_them() -> None:
    kinds = set[str]()
    for seed in range(50):
        spec = draw_cluster(seed, 3)
        assert parse_happenings(spec.written) == (spec.storm, spec.errands)
        kinds |= {errand.kind for errand in spec.errands}
    assert kinds == KINDS


def test_what_is_not_synced_is_never_left_to_one_machine() -> None:
    targets = set[str]()
    for seed in range(50):
        errands = Errands(Chance(seed), 3, 60 * SECOND, is_synced=False)
        drawn = errands.draw(PARTITIONS) + errands.wander(Chance(seed), PARTITIONS[0])
        moves = {frozenset(errand.value.split(",")) for errand in drawn if errand.kind == "reassign"}
        # Always the same one goes and comes, so that two others have had everything all the time.
        assert len({move for move in moves if len(move) < 3}) <= 1
        assert all(len(move) >= 2 for move in moves)
        limits = [int(errand.value) for errand in drawn if errand.setting == "min.insync.replicas"]
        assert all(limit >= 2 for limit in limits)
        targets |= {errand.value for errand in drawn if errand.kind == "reassign"}
    assert len(targets) > 6
