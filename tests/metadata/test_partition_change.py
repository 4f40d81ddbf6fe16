"""Who leads and who is in sync: single cases first, then what must hold in every state."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.metadata.brokers import FULL_DIRECTORY, BrokerImage
from penstock.core.metadata.fold import fold
from penstock.core.metadata.image import NO_LEADER, RECOVERED, RECOVERING, Image, PartitionImage, UnusualState
from penstock.core.metadata.partition_change import Election, PartitionChange
from penstock.core.metadata.reassignment import Move, completed
from penstock.core.metadata.reluctance import reluctant_brokers
from penstock.core.metadata.rules import TopicRules
from tests.metadata.test_draining import drain

TOPIC = b"t" * 16


def image_of(alive: set[int], full: Collection[int] = (), drained: Collection[int] = ()) -> Image:
    def broker(each: int) -> BrokerImage:
        return BrokerImage(each, 0, b"", (), fenced=each not in alive, cordoned=(FULL_DIRECTORY,) * (each in full))

    image = Image(brokers={each: broker(each) for each in range(6)})
    return fold(image, [drain(each) for each in drained], 1)[0]


def rules_of(
    alive: set[int],
    *,
    elr: bool = True,
    min_insync: int = 1,
    unclean: bool = False,
    full: Collection[int] = (),
    drained: Collection[int] = (),
) -> TopicRules:
    return TopicRules(image_of(alive, full, drained), elr, min_insync, unclean)


def partition_of(
    replicas: tuple[int, ...], isr: tuple[int, ...], leader: int, standing: UnusualState | None = None
) -> PartitionImage:
    directories = (bytes(16),) * len(replicas)
    return PartitionImage(replicas, isr, leader, 10, 20, directories, standing or UnusualState())


def after(change: PartitionChange) -> PartitionImage:
    record = change.record(TOPIC, 0)
    return change.before if record is None else change.before.merged(record)


def dropped(
    rules: TopicRules, before: PartitionImage, broker: int, *, distrust: bool = False, election: Election | None = None
) -> PartitionImage:
    change = PartitionChange(rules, before, election)
    change.drop(broker, distrust=distrust)
    return after(change)


def test_nothing_to_do_is_no_record() -> None:
    assert PartitionChange(rules_of({1, 2}), partition_of((1, 2), (1, 2), 1)).record(TOPIC, 0) is None


def test_the_next_replica_in_sync_leads_when_the_leader_goes() -> None:
    found = dropped(rules_of({2, 3}), partition_of((1, 3, 2), (2, 1, 3), 1), 1)
    assert (found.leader, found.isr, found.leader_epoch, found.partition_epoch) == (3, (2, 3), 11, 21)


def test_a_follower_that_goes_begins_no_epoch() -> None:
    found = dropped(rules_of({1, 3}), partition_of((1, 2, 3), (1, 2, 3), 1), 2)
    assert (found.leader, found.isr, found.leader_epoch, found.partition_epoch) == (1, (1, 3), 10, 21)


def test_below_min_insync_who_was_in_sync_stays_eligible() -> None:
    rules = rules_of({1}, min_insync=2)
    found = dropped(rules, partition_of((1, 2, 3), (1, 2), 1), 2)
    assert (found.isr, found.standing.elr, found.leader) == ((1,), (2,), 1)
    alone = dropped(rules_of(set(), min_insync=2), found, 1)
    assert (alone.isr, alone.standing.elr, alone.leader) == ((), (1, 2), NO_LEADER)
    assert alone.standing.last_known_elr == (1,)
    back = after(PartitionChange(rules_of({2}, min_insync=2), alone))
    assert (back.leader, back.isr, back.standing.elr) == (2, (2,), (1,))
    assert back.standing.last_known_elr == ()
    assert back.standing.recovery == RECOVERED, "an eligible leader lost nothing"


def test_at_min_insync_nobody_is_eligible_beside_the_in_sync() -> None:
    found = dropped(rules_of({1, 2}, min_insync=2), partition_of((1, 2, 3), (1, 2, 3), 1), 3)
    assert (found.isr, found.standing.elr) == ((1, 2), ())


def test_who_lost_its_log_is_not_eligible() -> None:
    before = partition_of((1, 2), (), NO_LEADER, UnusualState(elr=(1, 2), last_known_elr=(1,)))
    found = dropped(rules_of(set(), min_insync=2), before, 2, distrust=True)
    assert found.standing.elr == (1,)


def test_the_last_leader_may_return_when_nobody_is_eligible() -> None:
    before = partition_of((1, 2), (), NO_LEADER, UnusualState(last_known_elr=(2,)))
    assert after(PartitionChange(rules_of({1}, min_insync=2), before)).leader == NO_LEADER
    found = after(PartitionChange(rules_of({1, 2}, min_insync=2), before))
    assert (found.leader, found.isr, found.standing.recovery) == (2, (2,), RECOVERING)
    assert found.standing.last_known_elr == ()


def test_without_eligible_leaders_the_last_one_in_sync_is_remembered() -> None:
    found = dropped(rules_of(set(), elr=False), partition_of((1, 2), (1,), 1), 1)
    assert (found.leader, found.isr, found.leader_epoch) == (NO_LEADER, (1,), 11)
    assert after(PartitionChange(rules_of({2}, elr=False), found)).leader == NO_LEADER
    assert after(PartitionChange(rules_of({1, 2}, elr=False), found)).leader == 1


def test_an_unclean_election_takes_anyone_and_says_so() -> None:
    before = partition_of((1, 2, 3), (1,), 1)
    assert dropped(rules_of({2, 3}, elr=False), before, 1).leader == NO_LEADER
    found = dropped(rules_of({2, 3}, elr=False, unclean=True), before, 1)
    assert (found.leader, found.isr, found.standing.recovery) == (2, (2,), RECOVERING)


def test_the_preferred_leader_takes_over_only_when_asked() -> None:
    before = partition_of((1, 2), (1, 2), 2)
    assert PartitionChange(rules_of({1, 2}), before).record(TOPIC, 0) is None
    assert after(PartitionChange(rules_of({1, 2}), before, Election.PREFERRED)).leader == 1
    assert PartitionChange(rules_of({2}), before, Election.PREFERRED).record(TOPIC, 0) is None


def test_a_full_disk_leads_only_where_nobody_else_can() -> None:
    before = partition_of((1, 2, 3), (1, 2), 1)
    assert after(PartitionChange(rules_of({1, 2, 3}, full={1}), before)).leader == 2
    assert PartitionChange(rules_of({1, 3}, full={1}), before).record(TOPIC, 0) is None
    assert PartitionChange(rules_of({1, 2}, full={1, 2}), before).record(TOPIC, 0) is None
    assert after(PartitionChange(rules_of({2, 3}, full={2, 3}, unclean=True), before)).leader == 2
    led = partition_of((1, 2), (1, 2), 2)
    assert PartitionChange(rules_of({1, 2}, full={1}), led, Election.PREFERRED).record(TOPIC, 0) is None


def test_a_replica_in_a_lost_directory_does_not_lead() -> None:
    broker = BrokerImage(1, 0, b"", (), fenced=False, directories=(b"d" * 16,))
    other = BrokerImage(2, 0, b"", (), fenced=False)
    rules = TopicRules(Image(brokers={1: broker, 2: other}), True, 1, False)
    lost = partition_of((1, 2), (1, 2), 1)._replace(directories=(b"x" * 16, bytes(16)))
    assert after(PartitionChange(rules, lost)).leader == 2
    kept = lost._replace(directories=(b"d" * 16, bytes(16)))
    assert PartitionChange(rules, kept).record(TOPIC, 0) is None


def test_replicas_that_go_begin_an_epoch() -> None:
    before = partition_of((3, 1, 2), (1, 2), 1, UnusualState(adding=(3,), removing=(2,)))
    change = PartitionChange(rules_of({1, 2, 3}), before)
    change.isr = (1, 2, 3)
    found = after(change)
    assert (found.replicas, found.isr, found.leader, found.leader_epoch) == ((3, 1), (1, 3), 1, 11)
    assert not found.is_reassigning
    assert len(found.directories) == 2


@pytest.mark.parametrize(
    ("move", "isr", "expected"),
    [
        (Move((1, 2), (), ()), (1, 2), None),
        (Move((4, 1), (4,), (1,)), (1,), None),
        (Move((4, 1), (4,), (1,)), (1, 4), ((4,), (4,))),
        (Move((4, 5, 1), (4, 5), (1,)), (1, 4), None),
        (Move((1, 2, 3), (), (3,)), (1, 3), None),
        (Move((1, 2, 3), (), (3,)), (1, 2, 3), ((1, 2), (1, 2))),
        (Move((2, 3, 4, 5, 0, 1), (5,), (0, 1)), (0, 1, 5), None),
        (Move((1, 2, 3), (3,), ()), (1, 3), ((1, 2, 3), (1, 3))),
        (Move((1,), (), (1,)), (1,), None),
    ],
)
def test_a_move_is_complete_when_nothing_is_lost_by_it(
    move: Move, isr: tuple[int, ...], expected: tuple[tuple[int, ...], tuple[int, ...]] | None
) -> None:
    assert completed(move, isr, min_insync=1) == expected


@pytest.mark.parametrize(
    ("isr", "min_insync", "is_complete"),
    [((3, 4), 2, False), ((3, 4), 1, True), ((1, 3, 4), 2, True), ((4,), 2, True), ((1, 2, 3, 4), 4, True)],
)
def test_a_move_takes_no_copy_away_that_producers_count_on(
    isr: tuple[int, ...], min_insync: int, is_complete: bool
) -> None:
    move = Move((1, 2, 4, 3), (4,), (3,))
    assert (completed(move, isr, min_insync) is not None) == is_complete


class Case(NamedTuple):
    rules: TopicRules
    alive: frozenset[int]
    before: PartitionImage
    election: Election | None
    broker: int
    distrust: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A state that these rules can reach, and somebody who goes."""
    replicas = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True)))
    elr = draw(st.booleans())
    min_insync = draw(st.integers(1, len(replicas)))
    isr = tuple(draw(st.lists(st.sampled_from(replicas), unique=True, min_size=0 if elr else 1)))
    others = [replica for replica in replicas if replica not in isr]
    eligible = elr and len(isr) < min_insync and others
    standing = UnusualState(
        elr=tuple(sorted(draw(st.lists(st.sampled_from(others), unique=True)))) if eligible else (),
        recovery=draw(st.sampled_from([RECOVERED, RECOVERING])),
    )
    leader = draw(st.sampled_from([*isr, NO_LEADER]))
    if leader == NO_LEADER and elr and draw(st.booleans()):
        standing = standing._replace(last_known_elr=(draw(st.sampled_from(replicas)),))
    alive = frozenset(draw(st.sets(st.integers(0, 5))))
    broker = draw(st.sampled_from([*replicas, 99]))
    unclean = draw(st.booleans())
    some = st.sets(st.integers(0, 5))
    rules = rules_of(
        set(alive) - {broker}, elr=elr, min_insync=min_insync, unclean=unclean, full=draw(some), drained=draw(some)
    )
    election = draw(st.sampled_from([None, *Election]))
    return Case(
        rules, alive - {broker}, partition_of(replicas, isr, leader, standing), election, broker, draw(st.booleans())
    )


@given(cases())
def test_what_holds_after_every_change(case: Case) -> None:
    before, alive = case.before, case.alive
    found = dropped(case.rules, before, case.broker, distrust=case.distrust, election=case.election)
    standing = found.standing
    assert not set(found.isr) & set(standing.elr)
    assert set(found.isr) | set(standing.elr) <= set(found.replicas)
    assert found.leader == NO_LEADER or (found.leader in alive and found.leader in found.isr)
    if case.rules.eligible_leaders:
        assert case.broker not in found.isr
        assert len(found.isr) < case.rules.min_insync or not standing.elr
        assert not (case.distrust and case.broker in standing.elr)
    else:
        assert found.isr, "without eligible leaders somebody must be remembered"
    may_be_unclean = Election.UNCLEAN in (case.election, Election.UNCLEAN if case.rules.unclean else None)
    trusted = (set(before.isr) | (set(before.standing.elr) if case.rules.eligible_leaders else set())) - {case.broker}
    if found.leader not in (NO_LEADER, before.leader) and found.leader not in trusted:
        assert not (set(before.isr) - {case.broker}) & alive
        assert standing.recovery == RECOVERING
        assert may_be_unclean or before.standing.last_known_elr == (found.leader,)
        assert found.isr == (found.leader,)
    assert (found.leader_epoch > before.leader_epoch) == (found.leader != before.leader)
    assert (found.partition_epoch > before.partition_epoch) == (found != before)


@given(cases())
def test_a_leader_is_found_whenever_one_can_be_trusted(case: Case) -> None:
    found = dropped(case.rules, case.before, case.broker, distrust=case.distrust, election=case.election)
    in_sync, reluctant = set(case.before.isr) - {case.broker}, reluctant_brokers(case.rules.image)
    if in_sync & case.alive:
        assert found.leader in in_sync
        assert in_sync & case.alive <= reluctant or found.leader not in reluctant
        assert found.standing.recovery == case.before.standing.recovery


@given(cases())
def test_a_change_is_made_once(case: Case) -> None:
    found = dropped(case.rules, case.before, case.broker, distrust=case.distrust)
    assert dropped(case.rules, found, case.broker, distrust=case.distrust) == found
