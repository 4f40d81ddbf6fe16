"""A topic whose creation was acknowledged stays, one whose deletion was acknowledged does not come back."""

from __future__ import annotations

from penstock.sim.events import Event, TopicDecided, TopicsRead, TopicWanted
from penstock.sim.invariants.base import Invariant
from penstock.sim.model import Model


class TopicsSurvive(Invariant):
    """Metadata counts only when synced, so this holds through power loss too."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._decided: dict[str, bool] = {}

    def see(self, event: Event) -> None:
        match event:
            case TopicWanted(topic, _):
                self._decided.pop(topic, None)
            case TopicDecided(topic, exists):
                self._decided[topic] = exists
            case TopicsRead(topics):
                for topic, exists in self._decided.items():
                    self.demand((topic in topics) == exists, f"{topic} {'vanished' if exists else 'came back'}")
