"""Changes to many partitions, some hundred per turn: a broker that goes may have led a hundred thousand of them.

A sweep keeps no list of partitions. It goes through the topics that are there when it begins and decides about each
partition on the image of that turn, so that nothing that was decided meanwhile is undone. Its opening records come
first and make sure that nothing is added behind its back (who is fenced joins no in-sync set); its closing records come
when all is done. What fits into one turn is one atomic batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from penstock.core.base.ports import Pause, Steps
from penstock.core.metadata.fold import fold
from penstock.core.metadata.image import Image, TopicImage
from penstock.core.wire.schema import StoredRecord

CHANGES_PER_TURN_MAX = 250
"""Partitions decided about before others get their turn: about two milliseconds."""
LOOKED_AT_PER_TURN_MAX = 20_000
"""Topics and partitions looked at before others get their turn: about a millisecond."""

Find = Callable[[TopicImage], list[int]]
"""Which partitions of a topic are to be decided about."""
Decide = Callable[[Image, TopicImage, list[int]], list[StoredRecord]]


class Sweep:
    """Ask `step` for records with the newest image, append them, and again, until `is_done`."""

    def __init__(
        self,
        image: Image,
        find: Find | None,
        decide: Decide,
        *,
        opening: Sequence[StoredRecord] = (),
        closing: Sequence[StoredRecord] = (),
    ) -> None:
        """`find` is None where no partition can be concerned."""
        self._names: Iterator[str] = iter(()) if find is None else iter(image.topics)
        self._find = find
        self._decide = decide
        self._opening = list(opening)
        self._closing = list(closing)
        self._current: tuple[str, list[int]] = ("", [])
        self.is_done = False

    def step(self, image: Image) -> list[StoredRecord]:
        """The records of one turn, perhaps none; to be appended before the image changes in any other way."""
        assert not self.is_done, "a sweep that is done has nothing to say"
        records, self._opening = self._opening, []
        if records:
            image, _ = fold(image, records, image.offset)
        looked_at = decided = 0
        while decided < CHANGES_PER_TURN_MAX and looked_at < LOOKED_AT_PER_TURN_MAX:
            if not self._current[1]:
                name = next(self._names, None)
                if name is None:
                    self.is_done = True
                    return records + self._closing
                looked_at += self._look_at(image, name)
            name, found = self._current
            taken = found[: CHANGES_PER_TURN_MAX - decided]
            self._current = (name, found[len(taken) :])
            topic = image.topic(name)
            if taken and topic is not None:
                # The topic may have been made anew since it was looked at, with fewer partitions.
                records += self._decide(image, topic, [index for index in taken if index < len(topic)])
            decided += len(taken)
        return records

    def steps(self, latest: Callable[[], Image], append: Callable[[list[StoredRecord]], None]) -> Steps[None]:
        """All of it with pauses, each turn on what `latest` gives then."""
        while True:
            if records := self.step(latest()):
                append(records)
            if self.is_done:
                return
            yield Pause()

    def run(self, image: Image) -> list[StoredRecord]:
        """All of it at once, for those who have the time: tests, and clusters known to be small."""
        records: list[StoredRecord] = []
        while not self.is_done:
            records += self.step(image)
        return records

    def _look_at(self, image: Image, name: str) -> int:
        """Find what is to be decided in a topic; tells how much was looked at."""
        topic = image.topic(name)
        self._current = (name, [] if topic is None or self._find is None else self._find(topic))
        return 1 if topic is None else 1 + len(topic)
