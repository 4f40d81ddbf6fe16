"""What nodes count of themselves, added up over all their lives in a run."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.node.node import Node
from penstock.sim.trace import Trace


class Counting:
    """The counters of one machine's processes: each new process begins again at nothing, a run does not."""

    def __init__(self, trace: Trace, names: Mapping[str, str]) -> None:
        """`names`: what a metric of a node is called in a run."""
        self._trace = trace
        self._names = names
        self._node: Node | None = None
        self._counted: dict[str, int] = {}

    def look(self, node: Node) -> None:
        if node is not self._node:
            self._node, self._counted = node, dict.fromkeys(self._names, 0)
        for name, what in self._names.items():
            value = getattr(node.metrics, name)
            self._trace.counts[what] += value - self._counted[name]
            self._counted[name] = value
