"""The way to whoever controls the cluster: found, asked, and asked again elsewhere when it has stopped controlling.

A question may be asked twice, of two controllers, when the first one was lost before it answered. What is asked this
way is meant to bear that; but once it is answered it is over, and what was asked elsewhere must not come true later.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from penstock.core.base.errors import ErrorCode
from penstock.core.node.controller.ports import Answered, Host
from penstock.core.node.deadlines import Deadline
from penstock.core.node.links.link import Address
from penstock.core.node.links.purposes import CONTROL
from penstock.core.wire.refusals import says
from penstock.core.wire.schema import Request, Response

RETRY_MS: Final = 50
"""How long to wait before looking for the controller again."""
ATTEMPT_MS_MAX: Final = 5_000
"""How long one node is waited for: one that never answers is not the controller for long."""

OnAnswer = Callable[[Response | None], None]


class Asks(Protocol):
    """Links to other nodes."""

    def ask(self, to: Address, purpose: str, request: Request, timeout_ms: int, done: OnAnswer) -> None: ...
    def close(self, to: Address, purpose: str) -> None: ...


class Local(Protocol):
    """The controller of this node."""

    @property
    def is_active(self) -> bool: ...

    def handle(self, request: Request, version: int, done: Answered) -> None: ...


class ControllerChannel:
    """Questions for the active controller, whichever node that is; if it is this one, they are answered in place."""

    def __init__(self, host: Host, links: Asks, local: Local, leader: Callable[[], Address | None]) -> None:
        """`leader` tells where the node listens that leads the metadata log, as far as that is known."""
        self.host = host
        self.links = links
        self.local = local
        self.leader = leader
        self._open: dict[_Question, None] = {}

    def ask(
        self,
        request: Request,
        timeout_ms: int,
        done: OnAnswer,
        purpose: str = CONTROL,
        here: Callable[[], None] | None = None,
    ) -> None:
        """Ask until somebody answers who is the controller; None when the time is over. Should that be this node,
        `here` takes the question over, where it is not one for the controller itself."""
        question = _Question(self, request, purpose, here, done)
        self._open[question] = None
        question.begin(self.host.now_ms + timeout_ms)

    def controller_changed(self) -> None:
        """Another node leads: what was asked of the last one is asked of that."""
        for question in list(self._open):
            question.redirect()

    def forget(self, question: _Question) -> None:
        self._open.pop(question, None)


class _Question:
    """One request on its way to the controller."""

    def __init__(
        self,
        channel: ControllerChannel,
        request: Request,
        purpose: str,
        here: Callable[[], None] | None,
        done: OnAnswer,
    ) -> None:
        self._channel = channel
        self._request = request
        self._purpose = purpose
        self._here = here
        self._done: OnAnswer | None = done
        self._asked: Address | None = None
        self._attempt = 0
        self._unheard: dict[int, Address] = {}
        self._retry: Deadline | None = None
        self._end_ms = 0
        self._end: Deadline | None = None

    def begin(self, end_ms: int) -> None:
        self._end_ms = end_ms
        self._end = self._channel.host.deadlines.at(end_ms, lambda: self._finish(None))
        self._try()

    def redirect(self) -> None:
        if self._done is not None and (self._channel.local.is_active or self._channel.leader() != self._asked):
            self._try()

    def _try(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        channel = self._channel
        self._attempt += 1
        on_answer = partial(self._on_answer, self._attempt)
        is_here = channel.local.is_active
        self._asked = None if is_here else channel.leader()
        if is_here and self._here is not None:
            self._close()
            self._here()
        elif is_here:
            channel.local.handle(self._request, self._request.VERSIONS[-1], on_answer)
        elif self._asked is None:
            self._later()
        else:
            self._unheard[self._attempt] = self._asked
            left_ms = min(self._end_ms - channel.host.now_ms, ATTEMPT_MS_MAX)
            channel.links.ask(self._asked, self._purpose, self._request, max(1, left_ms), on_answer)

    def _on_answer(self, attempt: int, answer: Response | None) -> None:
        """An answer counts whenever it comes; that there is none, only from the node asked last."""
        self._unheard.pop(attempt, None)
        if self._done is None:
            return
        if answer is not None and not says(answer, ErrorCode.NOT_CONTROLLER):
            self._finish(answer)
        elif attempt == self._attempt and self._retry is None:
            self._later()

    def _later(self) -> None:
        host = self._channel.host
        self._retry = host.deadlines.at(host.now_ms + RETRY_MS, self._again)

    def _again(self) -> None:
        self._retry = None
        self._try()

    def _finish(self, answer: Response | None) -> None:
        done = self._done
        assert done is not None, "a question that is closed has no deadlines"
        self._close()
        if answer is not None:
            self._withdraw()
        done(answer)

    def _withdraw(self) -> None:
        """Who controlled before may do so again, and then read what was sent to it."""
        if self._unheard:
            channel = self._channel
            for address in {*self._unheard.values()} - {channel.leader()}:
                channel.links.close(address, self._purpose)

    def _close(self) -> None:
        self._done = None
        for deadline in (self._end, self._retry):
            if deadline is not None:
                deadline.cancel()
        self._channel.forget(self)
