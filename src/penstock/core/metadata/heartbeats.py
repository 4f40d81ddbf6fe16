"""Heartbeats: what a broker says of itself, what the controller makes of it, and the sweep that follows.

Only the active controller has this machine; a new one gives every unfenced broker some time to be heard of.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.broker_fencing import (
    abandoned,
    cordoning,
    fencing,
    leaderless,
    losing_directories,
    relieving,
    shutting_down,
    unfencing,
)
from penstock.core.metadata.brokers import BrokerImage, check_epoch
from penstock.core.metadata.image import Image
from penstock.core.metadata.levels import keeps_cordons
from penstock.core.metadata.sessions import Sessions
from penstock.core.metadata.sweep import Sweep
from penstock.core.wire.api.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse


class State(Enum):
    """How a broker stands with the controller."""

    FENCED = "leads nothing, is in no in-sync set"
    UNFENCED = "serves"
    SHUTTING_DOWN = "hands over what it leads"
    MAY_STOP = "is told to stop"


class Beat(NamedTuple):
    """The answer to a heartbeat, which leaves once the sweeps are done and committed, in this order."""

    answer: BrokerHeartbeatResponse
    state: State
    sweeps: list[Sweep]


class HandedOver(NamedTuple):
    """Which life of a broker has nothing to lead any more, and which records say so."""

    broker_epoch: int
    offset: int


class Expired(NamedTuple):
    """A broker whose session ended, and what follows from that."""

    broker: BrokerImage
    sweep: Sweep


class Heartbeats:
    """What the active controller knows of brokers beside the log."""

    def __init__(
        self, image: Image, session_ms: int, now_ms: int, first_ms: Callable[[int], int] | None = None
    ) -> None:
        """`first_ms` says of a broker how long it has to be heard of: a whole session, where nothing else is said."""
        self.sessions = Sessions(session_ms, now_ms)
        self._folded: dict[int, int] = {}
        self._handed_over: dict[int, HandedOver] = {}
        self._leaving: dict[int, Sweep] = {}
        # Where the metadata says all that was taken from a broker when it left last.
        self._told_by: dict[int, int] = {}
        found = [
            (session_ms if first_ms is None else first_ms(broker.id), broker.id, broker.epoch)
            for broker in image.brokers.values()
            if not broker.fenced
        ]
        for each_ms, broker_id, epoch in sorted(found):
            self.sessions.begin(broker_id, epoch, each_ms)
            self._folded[broker_id] = -1

    def beat(self, image: Image, settings: BrokerSettings, request: BrokerHeartbeatRequest) -> Beat:
        """Decide about one heartbeat; `sessions.advance` was called in this turn."""
        broker = check_epoch(image.brokers, request.broker_id, request.broker_epoch)
        before = self._state(broker)
        after = self._next(image, broker, before, request)
        self._heard_of(broker, after, request.current_metadata_offset)
        answer = BrokerHeartbeatResponse(
            is_caught_up=request.current_metadata_offset >= broker.registered_at,
            is_fenced=after in (State.FENCED, State.MAY_STOP),
            should_shut_down=after is State.MAY_STOP,
        )
        sweep = self._following(image, settings, broker, before, after)
        lost = losing_directories(image, settings, broker, _offline(broker, request))
        cordoned = _cordoned(image, settings, broker, request)
        return Beat(answer, after, [each for each in (sweep, lost, cordoned) if each is not None])

    def _heard_of(self, broker: BrokerImage, state: State, offset: int) -> None:
        if state is State.MAY_STOP:
            # Its next process need not wait for the end of this one's session.
            self.forget(broker.id)
            return
        self.sessions.touch(broker.id, broker.epoch)
        self._folded[broker.id] = offset
        if state is State.FENCED:
            self._handed_over.pop(broker.id, None)

    def handed_over(self, broker_id: int, broker_epoch: int, offset: int) -> None:
        """All that a broker led in this life was given to others, by records up to `offset`; it stops when those have
        seen them. Should they have been committed late, it may have stopped already, and be back in another life."""
        known = self._handed_over.get(broker_id)
        if known is None or known.broker_epoch < broker_epoch:
            self._handed_over[broker_id] = HandedOver(broker_epoch, offset)

    def _has_handed_over(self, broker: BrokerImage) -> bool:
        known = self._handed_over.get(broker.id)
        return known is not None and known.broker_epoch == broker.epoch

    def let_go(self, broker_id: int, sweep: Sweep) -> None:
        """The broker leaves. Until the sweep is done it is not let in again, nor is another one begun."""
        assert not self.is_leaving(broker_id), f"broker {broker_id} leaves twice at once"
        self._leaving[broker_id] = sweep
        self._told_by.pop(broker_id, None)

    def is_leaving(self, broker_id: int) -> bool:
        sweep = self._leaving.get(broker_id)
        return sweep is not None and not sweep.is_done

    def forget(self, broker_id: int) -> None:
        """Nothing that the broker said counts any more."""
        self.sessions.forget(broker_id)
        self._folded.pop(broker_id, None)
        self._handed_over.pop(broker_id, None)

    def expire(self, image: Image, settings: BrokerSettings) -> Expired | None:
        """Fence one broker that was silent for too long, if there is one."""
        while (found := self.sessions.expired()) is not None:
            broker = image.brokers.get(found[0])
            if broker is not None and broker.epoch == found[1] and not broker.fenced:
                sweep = self._fence(image, settings, broker)
                if sweep is not None:
                    return Expired(broker, sweep)
        return None

    def hint(self, image: Image, settings: BrokerSettings, broker_id: int) -> Sweep | None:
        """Nobody listens at the broker's address: fence it now, unless too many looked like that lately."""
        broker = image.brokers.get(broker_id)
        if broker is None:
            return None
        if broker.fenced:
            # Nothing is at stake, and a new process with this id need not wait for the session's end.
            self.forget(broker_id)
            return None
        return self._fence(image, settings, broker) if self.sessions.take_hint(broker_id, len(image.brokers)) else None

    def _fence(self, image: Image, settings: BrokerSettings, broker: BrokerImage) -> Sweep | None:
        self.forget(broker.id)
        return self._gone(image, settings, broker)

    def _gone(self, image: Image, settings: BrokerSettings, broker: BrokerImage) -> Sweep | None:
        if self.is_leaving(broker.id):
            return None
        sweep = fencing(image, settings, broker)
        self.let_go(broker.id, sweep)
        return sweep

    def take_over(self, image: Image, settings: BrokerSettings) -> list[Sweep]:
        """What the last controller may have left half done; to be begun before anything else."""
        sweeps = [leaderless(image, settings), relieving(image, settings)]
        for broker in image.brokers.values():
            if not broker.is_active:
                sweeps.append(abandoned(image, settings, broker))
            if broker.fenced:
                self.let_go(broker.id, sweeps[-1])
        return sweeps

    def _following(
        self, image: Image, settings: BrokerSettings, broker: BrokerImage, before: State, after: State
    ) -> Sweep | None:
        """What a change of state means for the broker's partitions."""
        if after is State.SHUTTING_DOWN:
            # Again with each heartbeat while it leads anything: it may have been given something meanwhile.
            needed = before is not after or image.tally.leading.get(broker.id, 0) > 0
            return shutting_down(image, settings, broker) if needed else None
        if before is after or (before is State.FENCED and after is State.MAY_STOP):
            return None
        return unfencing(image, settings, broker) if after is State.UNFENCED else self._gone(image, settings, broker)

    def _state(self, broker: BrokerImage) -> State:
        if broker.fenced:
            return State.FENCED
        return State.SHUTTING_DOWN if self._has_handed_over(broker) else State.UNFENCED

    def _next(self, image: Image, broker: BrokerImage, state: State, request: BrokerHeartbeatRequest) -> State:
        # A broker that has lost all its directories has nothing to lead with.
        want_fence = request.want_fence or 0 < len(broker.directories) == len(_offline(broker, request))
        if state is State.FENCED:
            if request.want_shut_down:
                return State.MAY_STOP
            may_serve = self._knows_its_place(image, broker, request.current_metadata_offset) and not want_fence
            return State.UNFENCED if may_serve else State.FENCED
        leads = image.tally.leading.get(broker.id, 0) > 0
        if state is State.SHUTTING_DOWN:
            known_to_all = self._handed_over[broker.id].offset <= self._folded_by_all(image)
            return State.MAY_STOP if known_to_all and not leads else State.SHUTTING_DOWN
        if want_fence:
            return State.MAY_STOP if request.want_shut_down else State.FENCED
        if request.want_shut_down:
            return State.SHUTTING_DOWN if leads else State.MAY_STOP
        return State.UNFENCED

    def _knows_its_place(self, image: Image, broker: BrokerImage, offset: int) -> bool:
        """Whether a fenced broker has heard of its own registration and of all that was given to others since. One that
        was only cut off believes to lead what it led then, and would go on with that."""
        if self.is_leaving(broker.id):
            return False
        return offset >= self._told_by.setdefault(broker.id, image.offset)

    def _folded_by_all(self, image: Image) -> int:
        """Up to which offset every broker that serves has folded the log."""
        serving = [
            offset
            for broker_id, offset in self._folded.items()
            if (broker := image.brokers.get(broker_id)) and not broker.fenced and not self._has_handed_over(broker)
        ]
        return min(serving, default=image.offset)


def _offline(broker: BrokerImage, request: BrokerHeartbeatRequest) -> list[bytes]:
    """Directories that the broker had when we last heard of it, and has no more."""
    return [directory for directory in broker.directories if directory in request.offline_log_dirs]


def _cordoned(
    image: Image, settings: BrokerSettings, broker: BrokerImage, request: BrokerHeartbeatRequest
) -> Sweep | None:
    """What follows from which directories the broker says are cordoned, if that is news and can be written."""
    cordoned = request.cordoned_log_dirs
    if cordoned is None or set(cordoned) == set(broker.cordoned or ()) or not keeps_cordons(image.features):
        return None
    return cordoning(image, settings, broker, cordoned)
