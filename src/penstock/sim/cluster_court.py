"""What a cluster promises, however its machines fare: the invariants that look at clients, and at leaders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from penstock.sim.court import Court
from penstock.sim.errands import VOTERS
from penstock.sim.events import (
    Acknowledged,
    Attempted,
    ClockSet,
    Decided,
    Down,
    Event,
    FetchAsked,
    InSync,
    Up,
    Watermark,
)
from penstock.sim.invariants import Invariant, LastOfEachKeyStays
from penstock.sim.invariants.acknowledged_is_readable import AcknowledgedIsReadable
from penstock.sim.invariants.commits_rise import CommitsRise
from penstock.sim.invariants.commits_survive import CommitsSurvive
from penstock.sim.invariants.cuts_are_named import CutsAreNamed
from penstock.sim.invariants.decisions_survive import DecisionsSurvive
from penstock.sim.invariants.deletions_are_recorded import DeletionsAreRecorded
from penstock.sim.invariants.disks_fail_first import DisksFailFirst
from penstock.sim.invariants.ends_rise import EndsRise
from penstock.sim.invariants.everyone_is_answered import EveryoneIsAnswered
from penstock.sim.invariants.everyone_makes_progress import EveryoneMakesProgress
from penstock.sim.invariants.fetched_is_committed import FetchedIsCommitted
from penstock.sim.invariants.fetched_is_produced import FetchedIsProduced
from penstock.sim.invariants.fetched_stays import FetchedStays
from penstock.sim.invariants.fetches_end_in_time import FetchesEndInTime
from penstock.sim.invariants.groups_see_everything import GroupsSeeEverything
from penstock.sim.invariants.handed_over_first import HandedOverFirst
from penstock.sim.invariants.in_sync_go_on import InSyncGoOn
from penstock.sim.invariants.in_sync_have_it import InSyncHaveIt
from penstock.sim.invariants.leaders_tell_news import LeadersTellNews
from penstock.sim.invariants.lease_ends_first import LeaseEndsFirst
from penstock.sim.invariants.metadata_agrees import MetadataAgrees
from penstock.sim.invariants.no_duplicate import NoDuplicate
from penstock.sim.invariants.no_gap import NoGap
from penstock.sim.invariants.nobody_is_hurt import NobodyIsHurt
from penstock.sim.invariants.one_leader import OneLeader
from penstock.sim.invariants.one_owner import OneOwner
from penstock.sim.invariants.order import Order
from penstock.sim.invariants.positions_rise import PositionsRise
from penstock.sim.invariants.replicas_agree import ReplicasAgree
from penstock.sim.invariants.static_keeps_its_place import StaticKeepsItsPlace
from penstock.sim.invariants.topics_survive import TopicsSurvive
from penstock.sim.invariants.watermark_rises_in_epoch import WatermarkRisesInEpoch
from penstock.sim.rules import TopicRules
from penstock.sim.scheduler import Scheduler
from penstock.sim.trace import Trace

CLUSTER: Final[tuple[type[Invariant], ...]] = (
    AcknowledgedIsReadable,
    CommitsRise,
    CommitsSurvive,
    CutsAreNamed,
    DecisionsSurvive,
    DeletionsAreRecorded,
    DisksFailFirst,
    EndsRise,
    EveryoneIsAnswered,
    EveryoneMakesProgress,
    FetchedIsCommitted,
    FetchedIsProduced,
    FetchedStays,
    FetchesEndInTime,
    GroupsSeeEverything,
    HandedOverFirst,
    InSyncGoOn,
    InSyncHaveIt,
    LastOfEachKeyStays,
    LeadersTellNews,
    LeaseEndsFirst,
    MetadataAgrees,
    NoDuplicate,
    NoGap,
    NobodyIsHurt,
    OneLeader,
    OneOwner,
    Order,
    PositionsRise,
    ReplicasAgree,
    StaticKeepsItsPlace,
    TopicsSurvive,
    WatermarkRisesInEpoch,
)


class ClusterCourt(Court):
    """A court to which the fate of one machine is no excuse. `hopeful` producers asked one machine for its word, or
    nobody: what they were told is no promise."""

    def __init__(
        self,
        scheduler: Scheduler,
        trace: Trace,
        rules: Mapping[str, TopicRules],
        hopeful: frozenset[str] = frozenset(),
        invariants: Iterable[type[Invariant]] = CLUSTER,
    ) -> None:
        super().__init__(scheduler, trace, rules, invariants)
        self._hopeful = hopeful

    def see(self, event: Event) -> None:
        if isinstance(event, Down):
            self._trace.counts["unclean-stops"] += not event.clean
        if isinstance(event, FetchAsked):
            self._trace.counts["near-fetches"] += event.near
        if isinstance(event, Attempted):
            self._trace.counts[f"hostile-{event.what}"] += 1
        if isinstance(event, Decided):
            self._trace.counts["voter-changes"] += event.what.startswith(VOTERS)
        if isinstance(event, ClockSet):
            self.model.transactions.clocks_differ = True
        is_hope = isinstance(event, Acknowledged) and event.batch.producer in self._hopeful
        if is_hope or isinstance(event, Down | Up | ClockSet):
            self.note(event)
            for invariant in self._invariants if isinstance(event, Down | Up) else ():
                if invariant.judges_machines:
                    invariant.see(event)
        else:
            super().see(event)

    def note(self, event: Event) -> None:
        # Watermarks move all the time; clients are told of them, and that is written down.
        if not isinstance(event, Watermark | InSync):
            super().note(event)
