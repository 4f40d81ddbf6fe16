"""What `penstock pipeline lake` declares, and what it refuses before anything is started."""

from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.core.base.errors import PenstockError
from penstock.spark.lake.places import By
from penstock.spark.pipelines import AvailableNow, Every, LakeSink, Misdeclared, Pipeline, TopicSource
from penstock.spark.pipelines.laking import lake_of, options_of, place_of
from penstock.spark.pipelines.showing import sink_text


def test_a_lake_is_a_pipeline_that_starts_at_the_first_offset() -> None:
    lake = lake_of("orders", "/lake/orders", By.HOUR, 30)
    assert (lake.name, lake.trigger, lake.sources[0].starting) == ("lake-orders", Every(30), "earliest")
    assert sink_text(lake.sinks[0]) == "Delta table in /lake/orders, by hour"
    assert lake_of("orders", "/lake/orders", once=True, name="mine").trigger == AvailableNow()


def test_time_does_not_go_back() -> None:
    with pytest.raises(PenstockError, match="--every is 0 or more"):
        lake_of("orders", "/lake/orders", every_s=-1)


def test_places_are_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert place_of("lake/orders") == str(tmp_path / "lake" / "orders")
    assert place_of("s3://shop/orders/") == "s3://shop/orders"


def test_settings_of_a_store_are_pairs() -> None:
    assert options_of(["AWS_REGION=eu-south-1", "A=b=c"]) == {"AWS_REGION": "eu-south-1", "A": "b=c"}
    with pytest.raises(PenstockError, match="NAME=VALUE"):
        options_of(["AWS_REGION"])


def test_a_table_holds_one_topic() -> None:
    with pytest.raises(Misdeclared, match="one topic"):
        Pipeline("two", (TopicSource(("a", "b")),), (LakeSink("lake"),))


def test_what_a_store_is_told_is_not_shown() -> None:
    assert "secret" not in repr(LakeSink("s3://shop", options={"AWS_SECRET_ACCESS_KEY": "secret"}))


def test_another_format_is_refused_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "lake", "orders", "--format", "orc"]) != 0
    assert "'orc' is not one of 'delta'" in " ".join(capfd.readouterr().err.split())
