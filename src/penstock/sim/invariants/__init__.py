"""Invariants: what must hold in every run, whatever the scenario did. One to a file."""

from penstock.sim.invariants.acknowledged_is_readable import AcknowledgedIsReadable
from penstock.sim.invariants.base import Invariant, Violation
from penstock.sim.invariants.commits_survive import CommitsSurvive
from penstock.sim.invariants.disks_fail_first import DisksFailFirst
from penstock.sim.invariants.everyone_is_answered import EveryoneIsAnswered
from penstock.sim.invariants.everyone_makes_progress import EveryoneMakesProgress
from penstock.sim.invariants.fetched_is_produced import FetchedIsProduced
from penstock.sim.invariants.fetches_end_in_time import FetchesEndInTime
from penstock.sim.invariants.handed_over_first import HandedOverFirst
from penstock.sim.invariants.last_of_each_key_stays import LastOfEachKeyStays
from penstock.sim.invariants.no_duplicate import NoDuplicate
from penstock.sim.invariants.no_gap import NoGap
from penstock.sim.invariants.one_owner import OneOwner
from penstock.sim.invariants.order import Order
from penstock.sim.invariants.reborn_begins_anew import RebornBeginsAnew
from penstock.sim.invariants.retention_keeps_enough import RetentionKeepsEnough
from penstock.sim.invariants.retention_takes_enough import RetentionTakesEnough
from penstock.sim.invariants.sequence_is_kept import SequenceIsKept
from penstock.sim.invariants.sessions_hear_news import SessionsHearNews
from penstock.sim.invariants.start_stays import StartStays
from penstock.sim.invariants.static_keeps_its_place import StaticKeepsItsPlace
from penstock.sim.invariants.topics_survive import TopicsSurvive
from penstock.sim.invariants.watermark_rises import WatermarkRises

__all__ = ["ALL", "Invariant", "LastOfEachKeyStays", "Violation"]

ALL: tuple[type[Invariant], ...] = (
    AcknowledgedIsReadable,
    CommitsSurvive,
    DisksFailFirst,
    EveryoneIsAnswered,
    EveryoneMakesProgress,
    FetchedIsProduced,
    FetchesEndInTime,
    HandedOverFirst,
    LastOfEachKeyStays,
    NoDuplicate,
    NoGap,
    OneOwner,
    Order,
    RebornBeginsAnew,
    RetentionKeepsEnough,
    RetentionTakesEnough,
    SequenceIsKept,
    SessionsHearNews,
    StartStays,
    StaticKeepsItsPlace,
    TopicsSurvive,
    WatermarkRises,
)
