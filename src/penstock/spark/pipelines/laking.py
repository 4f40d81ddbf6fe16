"""`penstock pipeline lake TOPIC`: the pipeline that keeps a topic as a table. A frozen value, as any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock.core.base.errors import PenstockError
from penstock.spark.lake.places import By, Origin, Place
from penstock.spark.pipelines.cluster import Cluster
from penstock.spark.pipelines.declaration import AvailableNow, Every, LakeSink, Pipeline, TopicSource
from penstock.spark.typed.declaration import FormatName, Registry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.pipelines.running import Settings

# A backfill comes in batches of so many, each cut into tasks of so many, which stream: memory does not grow with it.
BATCH_OFFSETS: Final = 5_000_000
TASK_OFFSETS: Final = 500_000
COLUMNS: Final = ("partition", "offset", "timestamp", "key", "headers", "value")


def lake_of(
    topic: str,
    place: str,
    by: By = By.DAY,
    every_s: float = 60.0,
    options: Mapping[str, str] | None = None,
    registry: Registry | None = None,
    once: bool = False,
    name: str | None = None,
) -> Pipeline:
    """All of a topic, from its first offset on."""
    if every_s < 0:
        raise PenstockError(f"a batch cannot begin every {every_s:g} seconds: --every is 0 or more")
    limits = {"maxOffsetsPerTrigger": str(BATCH_OFFSETS), "maxRecordsPerPartition": str(TASK_OFFSETS)}
    return Pipeline(
        name=name or f"lake-{topic}",
        sources=(TopicSource(topic, registry, options=limits | {"includeHeaders": "true"}),),
        sinks=(LakeSink(place, by, options or {}),),
        transform=_as_written if registry is None else _decoded,
        trigger=AvailableNow() if once else Every(every_s),
        description=f"the topic {topic} as a table in {place}",
    )


def prepared(pipeline: Pipeline, settings: Settings) -> Pipeline:
    """With its table there, which refuses another topic before Spark is started, and with the progress of this table:
    one that is made anew in the same place is filled from the beginning."""
    from penstock.spark.lake.delta import Table
    from penstock.spark.lake.files import key_schema
    from penstock.spark.pipelines.running import checkpoint_of

    (source,), (sink,) = pipeline.sources, pipeline.sinks
    assert isinstance(sink, LakeSink), "made by lake_of"
    origin, _ = origin_of(source.topics[0], settings.cluster)
    place = Place(sink.path, sink.options)
    table = Table.made(place, origin, key_schema(source.decode is not None), sink.by)
    return replace(pipeline, checkpoint=f"{checkpoint_of(pipeline, settings)}/{table.id}")


def origin_of(topic: str, cluster: Cluster) -> tuple[Origin, int]:
    """Which topic it is, and how many partitions it has."""
    with cluster.client("penstock-lake") as client:
        found = client.topic(topic)
    return Origin(topic, found.topic_id.hex()), len(found.partitions)


def place_of(text: str) -> str:
    """A folder is named in full: executors do not start where the driver does."""
    return text.rstrip("/") if "://" in text else str(Path(text).expanduser().resolve())


def options_of(texts: Iterable[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise PenstockError(f"--option {text!r} is not NAME=VALUE")
        found[name] = value
    return found


def registry_of(url: str | None, kind: FormatName) -> Registry | None:
    return None if url is None else Registry(url, kind)


def check_installed() -> None:
    if find_spec("deltalake") is None:
        raise PenstockError("tables need the package deltalake: pip install 'penstock[lake]'")


def _as_written(frame: DataFrame) -> DataFrame:
    return frame.select(*COLUMNS)


def _decoded(frame: DataFrame) -> DataFrame:
    """The topic is the table's own."""
    return frame.drop("_topic")
