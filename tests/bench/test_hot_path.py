"""How many functions the usual requests go through: whoever adds to the hot path hears of it here, on any machine.

A call costs about as much as ten byte codes beside it. Who must go above one of these says in decision 0007 what for.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bench.stages import calls, create_topic, exchange, fetch_frame, produce_frame, start_node
from penstock.core.records.build import build_batch

BATCHES = 200
"""So many that the first of them are found through the index and not among the newest."""
CALLS_MAX = {"a lone produce": 38, "a run of five": 72, "a fetch of the newest": 72, "a fetch through the index": 130}


@pytest.fixture(name="requests")
def _requests(tmp_path: Path) -> dict[str, Callable[[], None]]:
    """The usual requests, each as something to call."""
    node, connection = start_node(str(tmp_path))
    create_topic(node, connection)
    produced = produce_frame(bytes(build_batch([(None, bytes(100), (), node.now_ms)])))
    for _ in range(BATCHES):
        exchange(node, connection, produced)
    frames = (produced, 5 * produced, fetch_frame(BATCHES - 1), fetch_frame(0))
    return {name: partial(exchange, node, connection, each) for name, each in zip(CALLS_MAX, frames, strict=True)}


@pytest.mark.parametrize("name", CALLS_MAX)
def test_the_hot_path_stays_as_short_as_it_is(requests: dict[str, Callable[[], None]], name: str) -> None:
    assert calls(requests[name]) <= CALLS_MAX[name]


@pytest.mark.parametrize("name", CALLS_MAX)
def test_a_request_leaves_no_garbage_behind(requests: dict[str, Callable[[], None]], name: str) -> None:
    """What only the collector of cycles finds stays until it runs, and then costs a stall."""
    requests[name]()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        requests[name]()
        gc.collect()
        assert [each for each in gc.garbage if type(each).__module__.startswith("penstock")] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
