"""The in-sync set as a leader holds it: what the controller has confirmed, and the one change that is being asked for.

A change may have been made although nobody has told us so. While one is being asked for, an acknowledgement must be
safe under both sets, so it counts everybody who is in either (`maximal`), and no other change is proposed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from penstock.core.base.errors import ErrorCode


class Member(NamedTuple):
    """A replica that should be in sync, and the life of its broker that was seen to be (-1: any)."""

    id: int
    broker_epoch: int


class Proposal(NamedTuple):
    """What AlterPartition is to say for a partition."""

    leader_epoch: int
    partition_epoch: int
    members: tuple[Member, ...]

    @property
    def ids(self) -> frozenset[int]:
        return frozenset(member.id for member in self.members)


class Assignment(NamedTuple):
    """A partition as the image, or the answer to a proposal, describes it."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    recovering: bool = False
    """The leader was elected although it may lack what was committed."""


NOT_APPLIED: Final = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
"""The controller is sure that the change was not made."""

OVERTAKEN: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)
"""The controller knows better. What, the next image says; until then both sets may be in force."""


class InSyncSet:
    """Who is in sync, and who may be."""

    __slots__ = ("isr", "maximal", "partition_epoch", "proposal")

    def __init__(self, isr: Iterable[int], partition_epoch: int) -> None:
        self.proposal: Proposal | None = None
        self.isr = self.maximal = frozenset(isr)
        self.partition_epoch = partition_epoch

    def __repr__(self) -> str:
        asked = "" if self.proposal is None else f", asked for {sorted(self.proposal.ids)}"
        return f"InSyncSet({sorted(self.isr)} at {self.partition_epoch}{asked})"

    def propose(self, proposal: Proposal) -> None:
        assert self.proposal is None, "one change at a time"
        self.proposal = proposal
        self.maximal = self.isr | proposal.ids

    def settle(self, isr: Iterable[int], partition_epoch: int) -> None:
        """The controller says what the set is."""
        assert partition_epoch >= self.partition_epoch, "the controller's word does not grow older"
        self.isr = self.maximal = frozenset(isr)
        self.partition_epoch = partition_epoch
        self.proposal = None

    def withdraw(self) -> None:
        """The change was surely not made."""
        self.proposal = None
        self.maximal = self.isr
