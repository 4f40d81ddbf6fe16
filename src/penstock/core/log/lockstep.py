"""Many logs doing the same thing at once: their file operations are asked for together, and so are their syncs.

Ten thousand logs that close one after the other wait for seventy thousand syncs. Side by side each of them goes on
until it needs a sync; when all of them do, one sync of the whole folder serves them all, and they go on. What each log
may rely on is the same as if it were alone: a sync that it asked for is answered by one that was asked for later.

Nobody waits for long for a log that itself waits for somebody, and pauses until then: that may be a log in another such
row, which waits for one in this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Generic, TypeVar

from penstock.core.base.ports import FileFailure, FileOp, Pause, Steps, Sync, SyncDir, SyncTree, Together

LANES_PER_TURN_MAX: Final = 128
"""How many go on before others get their turn: some milliseconds of work."""
SINGLE_SYNCS_MAX: Final = 64
"""Up to so many syncs are done one by one: a sync of the whole folder writes what nobody waits for, too."""

PAUSES_MAX: Final = 16
"""How often one may pause before the others sync without it."""

T = TypeVar("T")


class _Lane(Generic[T]):
    """One of the steps: the operation it waits for and its answer, or how it ended."""

    __slots__ = ("_steps", "answer", "op", "outcome")

    def __init__(self, steps: Steps[T]) -> None:
        self._steps = steps
        self.op: FileOp | None = None
        self.answer: object = None
        self.outcome: Any = None

    def resume(self) -> None:
        answer, self.answer, self.op = self.answer, None, None
        try:
            self.op = self._steps.throw(answer) if isinstance(answer, FileFailure) else self._steps.send(answer)
        except StopIteration as stop:
            self.outcome = stop.value
        except FileFailure as failure:
            self.outcome = failure


def side_by_side(root: str, many: Iterable[Steps[T]]) -> Steps[list[T | FileFailure]]:
    """Run all of them; gives what each returned, or the failure that ended it. What they sync is at or below `root`."""
    lanes = [_Lane(steps) for steps in many]
    live = lanes
    while live:
        for at in range(0, len(live), LANES_PER_TURN_MAX):
            if at:
                yield Pause()
            yield from _run_until_sync(live[at : at + LANES_PER_TURN_MAX])
        live = [lane for lane in live if lane.op is not None]
        if live:
            yield from _sync(root, live)
    return [lane.outcome for lane in lanes]


def _run_until_sync(lanes: Sequence[_Lane[T]]) -> Steps[None]:
    """Let each go on until it has ended, or cannot without a sync, or only pauses."""
    busy, pauses_left = lanes, PAUSES_MAX
    while busy and pauses_left:
        for lane in busy:
            lane.resume()
        busy = [lane for lane in busy if lane.op is not None and not isinstance(lane.op, Sync | SyncDir)]
        pauses_left -= all(isinstance(lane.op, Pause) for lane in busy)
        yield from _answer(busy)


def _sync(root: str, live: Sequence[_Lane[T]]) -> Steps[None]:
    lanes = [lane for lane in live if not isinstance(lane.op, Pause)]
    if not lanes:
        yield Pause()
        return
    if len(lanes) <= SINGLE_SYNCS_MAX:
        yield from _answer(lanes)
        return
    failure = None
    try:
        yield SyncTree(root)
    except FileFailure as caught:
        failure = caught
    for lane in lanes:
        lane.answer = failure


def _answer(lanes: Sequence[_Lane[T]]) -> Steps[None]:
    if lanes:
        results: list[object] = yield Together([lane.op for lane in lanes if lane.op is not None])
        for lane, result in zip(lanes, results, strict=True):
            lane.answer = result
