"""Invariants: what must hold in every run, whatever the scenario did. One to a file."""

from penstock.sim.invariants.acknowledged_is_readable import AcknowledgedIsReadable
from penstock.sim.invariants.base import Invariant, Violation
from penstock.sim.invariants.commits_survive import CommitsSurvive
from penstock.sim.invariants.everyone_is_answered import EveryoneIsAnswered
from penstock.sim.invariants.everyone_makes_progress import EveryoneMakesProgress
from penstock.sim.invariants.fetched_is_produced import FetchedIsProduced
from penstock.sim.invariants.no_duplicate import NoDuplicate
from penstock.sim.invariants.no_gap import NoGap
from penstock.sim.invariants.one_owner import OneOwner
from penstock.sim.invariants.order import Order
from penstock.sim.invariants.sequence_is_kept import SequenceIsKept
from penstock.sim.invariants.sessions_hear_news import SessionsHearNews
from penstock.sim.invariants.topics_survive import TopicsSurvive
from penstock.sim.invariants.watermark_rises import WatermarkRises

__all__ = ["ALL", "Invariant", "Violation"]

ALL: tuple[type[Invariant], ...] = (
    AcknowledgedIsReadable,
    CommitsSurvive,
    EveryoneIsAnswered,
    EveryoneMakesProgress,
    FetchedIsProduced,
    NoDuplicate,
    NoGap,
    OneOwner,
    Order,
    SequenceIsKept,
    SessionsHearNews,
    TopicsSurvive,
    WatermarkRises,
)
