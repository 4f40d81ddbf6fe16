"""No batch begins behind a closed gate, and none that is refused counts as done."""

from typing import Any

import pytest

from penstock.spark.pipelines.gate import Gate, GateClosed


def test_batches_pass_until_the_gate_is_closed() -> None:
    seen: list[int] = []
    gate = Gate(lambda _, number: seen.append(number))
    frame: Any = None
    gate(frame, 1)
    gate.close()

    assert not gate.has_refused, "nobody has come yet"
    with pytest.raises(GateClosed, match="batch 2 is left for the next run"):
        gate(frame, 2)
    assert gate.has_refused
    assert seen == [1]
