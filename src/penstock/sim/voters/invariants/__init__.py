"""What must hold of a quorum in every run, whatever the scenario did. One to a file."""

from penstock.sim.voters.invariants.base import Invariant
from penstock.sim.voters.invariants.metadata_agrees import MetadataAgrees
from penstock.sim.voters.invariants.metadata_survives import MetadataSurvives
from penstock.sim.voters.invariants.one_leader import OneLeader

__all__ = ["ALL", "Invariant"]

ALL: tuple[type[Invariant], ...] = (OneLeader, MetadataAgrees, MetadataSurvives)
