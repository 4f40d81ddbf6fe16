"""Pipelines: declared as frozen values, run by `penstock pipeline run NAME`.

    from penstock.spark.pipelines import Json, ParquetSink, Pipeline, TopicSink, TopicSource, Watermark

    ORDERS = TopicSource(
        "orders",
        decode=Json("order_id STRING NOT NULL, restaurant STRING NOT NULL, total DOUBLE, placed_at TIMESTAMP"),
        watermark=Watermark("placed_at", "10 minutes"),
    )

    def revenue(orders: DataFrame) -> DataFrame:
        return orders.groupBy(window("placed_at", "1 minute"), "restaurant").agg(sum("total").alias("revenue"))

    pipeline = Pipeline(
        name="revenue",
        sources=(ORDERS,),
        transform=revenue,
        sinks=(TopicSink("revenue", key="restaurant"), ParquetSink("lake/revenue")),
        mode="update",
    )

A pipeline with two sources has a transform of two frames, in the order of the sources. `penstock pipeline list --from
FILE_OR_MODULE` finds every pipeline at the top level of a module, alone or in a tuple or list.
"""

from penstock.core.delivery.policy import RetryPolicy
from penstock.spark.pipelines.declaration import (
    AvailableNow,
    CallSink,
    ConsoleSink,
    Encode,
    Every,
    Json,
    LakeSink,
    Misdeclared,
    ParquetSink,
    PerRecord,
    Pipeline,
    Record,
    Sink,
    TableSink,
    TopicSink,
    TopicSource,
    Trigger,
    Watermark,
    unchanged,
)
from penstock.spark.typed.declaration import Registry

__all__ = [
    "AvailableNow",
    "CallSink",
    "ConsoleSink",
    "Encode",
    "Every",
    "Json",
    "LakeSink",
    "Misdeclared",
    "ParquetSink",
    "PerRecord",
    "Pipeline",
    "Record",
    "Registry",
    "RetryPolicy",
    "Sink",
    "TableSink",
    "TopicSink",
    "TopicSource",
    "Trigger",
    "Watermark",
    "unchanged",
]
