"""The page on Python: each of its examples runs, in their order, as a reader would type them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from penstock import Consumer
from penstock.testing import Broker

pytestmark = pytest.mark.client

PAGE = Path(__file__).parents[2] / "docs/python.md"
ADDRESS = "127.0.0.1:9092"
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def test_every_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    examples = EXAMPLE.findall(PAGE.read_text())
    assert len(examples) >= 8
    assert sum(ADDRESS in each for each in examples) == 1
    names: dict[str, Any] = {"__name__": "page"}
    with Broker({"group.initial.rebalance.delay.ms": 0, "transaction.state.log.num.partitions": 1}) as broker:
        for number, example in enumerate(examples, 1):
            code = compile(example.replace(ADDRESS, broker.bootstrap), f"{PAGE.name}, example {number}", "exec")
            exec(code, names)
        with Consumer(broker.bootstrap, group="check", topics=["shipments"]) as consumer:
            found = []
            while len(found) < 5:
                found += [each.text for each in consumer.poll_many(10)]
    assert found[:3] == ["box 4", "for 12.5", "first of all"]
    assert sorted(found[3:]) == ["12.5", "99"]
    said = capsys.readouterr().out
    assert "b'customer-7' {'total': 12.5}" in said
    assert "UNKNOWN_TOPIC_OR_PART False True" in said
