"""The verdict: medians, ratios the right way round, and misses that are seen."""

import pytest

from bench.report import Rounds, lines_of
from bench.scenarios import SCENARIOS, Metric, Scale, Scenario


def scenario(*metrics: Metric) -> Scenario:
    def unused(_broker: object, _scale: Scale) -> dict[str, float]:
        raise AssertionError("reports do not run anything")

    return Scenario("load", "a load", unused, metrics)


def rounds(penstock: list[float], kafka: list[float]) -> Rounds:
    return {"penstock": [{"x": value} for value in penstock], "kafka": [{"x": value} for value in kafka]}


def test_the_median_decides_not_the_best_round() -> None:
    (line,) = lines_of(scenario(Metric("x", "req/s", True, 1.3)), rounds([100, 900, 120], [100, 100, 100]))
    assert (line.penstock, line.ratio, line.verdict) == (120, 1.2, "MISS")


@pytest.mark.parametrize(
    ("metric", "verdict"),
    [
        (Metric("x", "MB/s", True, ratio_floor=2.0), "pass"),
        (Metric("x", "MB/s", True, ratio_floor=2.1), "MISS"),
        (Metric("x", "ms", False, ratio_floor=2.0), "pass"),
        (Metric("x", "ms", False, ratio_floor=1.9), "MISS"),
        (Metric("x", "MB/s", True, ratio_floor=1.0, limit=201), "MISS"),
        (Metric("x", "%", False, limit=200), "pass"),
        (Metric("x", "x", False), ""),
    ],
)
def test_a_bound_holds_in_its_direction(metric: Metric, verdict: str) -> None:
    (line,) = lines_of(scenario(metric), rounds([200], [100]))
    assert line.verdict == verdict


def test_without_kafka_there_is_no_ratio_and_only_limits_count() -> None:
    metric = Metric("x", "MB/s", True, ratio_floor=2.5, limit=100)
    (line,) = lines_of(scenario(metric), {"penstock": [{"x": 150.0}]})
    assert (line.kafka, line.ratio, line.verdict) == (None, None, "pass")


def test_every_scenario_has_a_name_of_its_own_and_something_to_say() -> None:
    names = [each.name for each in SCENARIOS]
    assert len(set(names)) == len(names)
    assert all(each.metrics for each in SCENARIOS)
