"""What a declaration says by itself, and what it refuses."""

import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from penstock.spark.pipelines import ConsoleSink, Misdeclared, Pipeline, TopicSource

ORDERS = TopicSource("orders")
SINKS = (ConsoleSink(),)


def test_a_pipeline_is_a_value() -> None:
    pipeline = Pipeline("p", (ORDERS,), SINKS)

    assert pipeline == Pipeline("p", (TopicSource("orders"),), SINKS)
    with pytest.raises(FrozenInstanceError):
        pipeline.name = "q"  # type: ignore[misc]  # That is what is tested.


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a b", "x" * 201, "ü"])
def test_a_name_must_do_for_a_group_and_a_folder(name: str) -> None:
    with pytest.raises(Misdeclared, match="is not a name for a pipeline"):
        Pipeline(name, (ORDERS,), SINKS)


@pytest.mark.parametrize(
    ("sources", "sinks"), [((), SINKS), ((ORDERS,), ()), ((TopicSource(""),), SINKS), ((TopicSource(()),), SINKS)]
)
def test_a_pipeline_needs_both_ends(sources: Any, sinks: Any) -> None:
    with pytest.raises(Misdeclared, match=r"needs at least one|names no topic"):
        Pipeline("p", sources, sinks)


def test_a_transform_takes_a_frame_for_each_source() -> None:
    def two(left: Any, right: Any) -> Any:
        return left.join(right)

    Pipeline("p", (ORDERS, TopicSource("payments")), SINKS, two)
    with pytest.raises(Misdeclared, match="its transform must take one frame"):
        Pipeline("p", (ORDERS,), SINKS, two)
    with pytest.raises(Misdeclared, match="its transform must take 3 frames"):
        Pipeline("p", (ORDERS, ORDERS, ORDERS), SINKS, two)


def test_dead_letters_go_beside_their_topic_unless_told_otherwise() -> None:
    assert ORDERS.dead_letter_topic("orders") == "orders.dlq"
    assert TopicSource("orders", dead_letters="bad").dead_letter_topic("orders") == "bad"


@pytest.mark.slow
def test_declaring_does_not_load_spark() -> None:
    program = "import sys, penstock.spark, penstock.spark.pipelines.commands as c; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
