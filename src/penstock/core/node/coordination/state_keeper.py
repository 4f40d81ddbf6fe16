"""Carries out what a machine of groups wants of share coordinators, and gives it their answer, a step in each turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.groups.elsewhere import Codes, StateDue, Step
from penstock.core.groups.shard import GroupShard
from penstock.core.node.coordination.host import Host
from penstock.core.node.coordination.ports import CoordinatorHost
from penstock.core.rsm.result import Due, Performer, Result

FindHost = Callable[[int], Host[GroupShard]]


class StateKeeper(Performer):
    """Of the machine over one partition of `__consumer_offsets`."""

    __slots__ = ("_find_host", "_index", "_node")

    def __init__(self, node: CoordinatorHost, index: int, find_host: FindHost) -> None:
        self._node = node
        self._index = index
        self._find_host = find_host

    def perform(self, due: Due) -> None:
        assert isinstance(due, StateDue)
        if (machine := self._machine()) is not None:
            self._node.cluster.share_setup.ask(due.request, partial(self._heard, machine, due))

    def _heard(self, machine: GroupShard, due: StateDue, response: Any) -> None:
        """A machine that was folded anew meanwhile knows nobody who waits, and asks again when it has to."""
        codes = {
            (topic.topic_id, each.partition): ErrorCode(each.error_code)
            for topic in response.results
            for each in topic.partitions
        }
        for step in due.steps:
            if self._machine() is not machine:
                return
            self._find_host(self._index).run(partial(_carry_on, self._node.now_ms, step, codes))

    def _machine(self) -> GroupShard | None:
        try:
            return self._find_host(self._index).machine
        except ApiError:
            return None


def _carry_on(now_ms: int, step: Step, codes: Codes, shard: GroupShard) -> Result:
    return shard.carry_on(now_ms, lambda turn: step(turn, codes))
