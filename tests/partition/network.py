"""Questions and answers over connections that are slow, cut, or end with the life of whoever is at an end of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.partition.broker import Broker
    from tests.partition.world import World

Reply = Callable[[Any], None]
OUTSIDE = -1
"""Clients, who reach everyone that is alive."""
CONTROLLER = 0


class Question:
    """One question and whoever waits for its answer: `done` gets that, or None when the time is over."""

    def __init__(self, world: World, asker: Broker | None, done: Callable[[Any], None], timeout_ms: int) -> None:
        self._world = world
        self._asker = asker
        self._life = 0 if asker is None else asker.life
        self._done = done
        self.is_open = True
        self.later(timeout_ms, None)

    @property
    def asker_id(self) -> int:
        return OUTSIDE if self._asker is None else self._asker.id

    def later(self, delay_ms: int, answer: Any) -> None:
        """Answer after a while, if the asker still lives the life in which it asked."""
        if self._asker is None:
            self._world.at(delay_ms, lambda: self._finish(answer))
        elif self._asker.life == self._life:
            self._world.later(self._asker, delay_ms, lambda: self._finish(answer))

    def _finish(self, answer: Any) -> None:
        if self.is_open:
            self.is_open = False
            self._done(answer)


class Network:
    """`cut` holds pairs of ids between which nothing arrives."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._dice = world.chance.fork("network")
        self.cut: set[frozenset[int]] = set()

    def latency(self) -> int:
        return self._dice.skewed(1, 40) if self._dice.happens(0.1) else self._dice.between(0, 3)

    def reaches(self, one: int, other: int) -> bool:
        return frozenset((one, other)) not in self.cut

    def ask(
        self,
        asker: Broker | None,
        to: Broker,
        deliver: Callable[[Reply], None],
        done: Callable[[Any], None],
        timeout_ms: int,
    ) -> None:
        """Ask a broker. A question that nobody waits for any longer does not arrive: its connection was closed."""
        question = Question(self._world, asker, done, timeout_ms)

        def reply(answer: Any) -> None:
            if self.reaches(question.asker_id, to.id):
                question.later(self.latency(), answer)

        def arrive() -> None:
            if question.is_open and self.reaches(question.asker_id, to.id):
                deliver(reply)

        if to.is_alive:
            self._world.later(to, self.latency(), arrive)
        else:
            question.later(self.latency() + 1, None)

    def ask_controller(
        self, asker: Broker, serve: Callable[[], Any], done: Callable[[Any], None], timeout_ms: int
    ) -> None:
        """Ask the controller, which answers at once; what it has heard happens, even if nobody hears the answer."""
        question = Question(self._world, asker, done, timeout_ms)

        def arrive() -> None:
            if self.reaches(asker.id, CONTROLLER):
                answer = serve()
                question.later(self.latency(), answer)

        self._world.at(self.latency(), arrive)
