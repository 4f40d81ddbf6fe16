"""The court itself: what it must object to, and what only looks like a loss."""

from __future__ import annotations

import pytest

from tests.raft.alone import log_of
from tests.raft.court import Court, Violation
from tests.raft.node import Node
from tests.raft.world import Shape, World

HELD_MS = 1_500
"""Long enough for others to elect one of them and to commit."""


def court_after(epoch: int, *epochs: int) -> Court:
    """A court that has seen the leader of an epoch commit a log with a record of each of these epochs."""
    court = Court()
    court.commits(1, epoch, 0, len(epochs), log_of(*epochs))
    return court


class TestLeaders:
    def test_a_leader_has_what_was_committed_in_earlier_epochs(self) -> None:
        court = court_after(4, 4, 4)
        with pytest.raises(Violation, match="leader 2 of 5 ends at 1, not 2"):
            court.leads(5, 2, 0, log_of(4), {})
        court.leads(6, 2, 0, log_of(4, 4), {})

    def test_a_leader_has_the_same_as_was_committed_in_earlier_epochs(self) -> None:
        court = court_after(4, 2, 4)
        with pytest.raises(Violation, match="leader 2 of epoch 5 has"):
            court.leads(5, 2, 0, log_of(2, 3), {})

    def test_what_an_old_epoch_committed_is_asked_for_although_a_later_one_committed_more(self) -> None:
        court = court_after(2, 2, 2)
        court.commits(1, 4, 2, 3, log_of(2, 2, 4))
        with pytest.raises(Violation, match="leader 2 of 3 ends at 1, not 2"):
            court.leads(3, 2, 0, log_of(2), {})
        court = court_after(2, 2, 2)
        court.commits(1, 4, 2, 3, log_of(2, 2, 4))
        court.leads(3, 2, 0, log_of(2, 2), {})

    def test_an_epoch_has_one_leader_in_one_life(self) -> None:
        court = Court()
        court.leads(1, 2, 0, log_of(), {})
        with pytest.raises(Violation, match="epoch 1 is led by"):
            court.leads(1, 2, 1, log_of(), {})


def leaders_after_holding_a_candidate(seed: int) -> list[tuple[int, int]]:
    """(node, epoch) of all who led, in order, where a candidate stops running for a while when it is given a vote."""
    world = World(seed, Shape(voters=3, dynamic=False, observers=0))
    held: list[Node] = []
    led: list[tuple[int, int]] = []

    def hold(voter: Node, _delay_ms: int) -> None:
        voted = voter.saving.voted if voter.saving is not None else None
        if not held and voted is not None and voted.id != voter.id:
            held.append(world.nodes[voted.id])
            held[0].paused_until_ms = world.now_ms + HELD_MS

    world.on_save = hold
    world.on_lead = lambda node: led.append((node.id, node.led_epoch))
    world.demand_progress()
    assert held, "somebody has voted"
    return led


def test_who_hears_late_that_it_won_leads_an_epoch_that_is_over_and_loses_nothing() -> None:
    """Others have elected one of them and committed by then; all agree in the end."""
    histories = [leaders_after_holding_a_candidate(seed) for seed in range(8)]
    late = [led for led in histories if led[-1][1] < max(epoch for _, epoch in led)]
    assert late, "in some of them the vote is the first that is read"
