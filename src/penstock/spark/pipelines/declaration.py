"""What a pipeline is: a frozen value that says everything and does nothing.

Nothing here needs Spark, so a declaration can be read, listed and tested without it. `running` gives it life.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from penstock.core.delivery.dead_letter import SUFFIX
from penstock.core.delivery.policy import RetryPolicy
from penstock.spark.lake.places import By
from penstock.spark.typed.declaration import FORMATS, FormatName, Registry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    Frame = DataFrame
    Schema = str | StructType
else:
    Frame = Schema = Any

NAME_CHARS_MAX: Final = 200
# What Kafka allows in a topic's name, because a pipeline's name becomes a consumer group and a folder as well.
_NAME: Final = re.compile(r"[a-zA-Z0-9_-][a-zA-Z0-9._-]*")

# The columns that every decoded row carries beside its fields: where it came from.
ORIGIN_COLUMNS: Final = ("_key", "_topic", "_partition", "_offset", "_timestamp")
RETRIES_DEFAULT: Final = RetryPolicy()


class Misdeclared(ValueError):
    """A pipeline that contradicts itself; found when it is declared."""


class Record(NamedTuple):
    """One record as a per-record function sees it; the timestamp is in milliseconds."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    topic: str
    partition: int
    offset: int
    timestamp: int


Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Json:
    """Values are JSON objects with these fields, in Spark's DDL: `"order_id STRING NOT NULL, total DOUBLE"`.

    Fields that the schema does not name are ignored; those it names may be missing unless they are NOT NULL. `then`,
    when given, sees the fields of each record, checked and in Python's types, and gives those to go on with; what it
    raises makes the record a dead letter.
    """

    schema: Schema
    then: Callable[[dict[str, Any]], Fields] | None = None
    retries: RetryPolicy = RETRIES_DEFAULT


@dataclass(frozen=True)
class PerRecord:
    """A function gives each record's fields, checked against the schema; what it raises makes a dead letter."""

    function: Callable[[Record], Fields]
    schema: Schema
    retries: RetryPolicy = RETRIES_DEFAULT


@dataclass(frozen=True)
class Watermark:
    """How late a row may be: rows older than the newest `column` by more than `delay` are not waited for."""

    column: str
    delay: str


@dataclass(frozen=True)
class TopicSource:
    """A topic to read, or several of one kind.

    Without `decode` the frame has the columns of Spark's Kafka source. With it, it has the decoded fields and
    `_key, _topic, _partition, _offset, _timestamp`; records that do not decode go to `<topic>.dlq`, or to the topic
    that `dead_letters` names. `options` are those of `format("penstock")` and win over what is set here.
    """

    topic: str | tuple[str, ...]
    decode: Json | PerRecord | Registry | None = None
    watermark: Watermark | None = None
    starting: Literal["earliest", "latest"] = "earliest"
    dead_letters: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic,) if isinstance(self.topic, str) else self.topic

    @property
    def cluster(self) -> str | None:
        """The cluster that the options name, if it is not the one of the run."""
        named = {name.lower(): value for name, value in self.options.items()}
        return named.get("kafka.bootstrap.servers")

    def dead_letter_topic(self, topic: str) -> str:
        return self.dead_letters or f"{topic}.dlq"


@dataclass(frozen=True)
class Encode:
    """Values are written as the serialisers of the registry at `url` do.

    Their schema is registered under `subject` (the topic's name and `-value` unless it is said) when the query starts,
    if it is compatible with those before it: the one that `schema` gives, or one of the columns' types.
    """

    url: str
    format: FormatName = "avro"
    subject: str | None = None
    schema: str | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise Misdeclared(f"the format of encoded values is one of {', '.join(FORMATS)}, not {self.format!r}")
        if self.format == "protobuf" and self.schema is None:
            raise Misdeclared("numbers of Protobuf's fields cannot be made up: give a `schema`")


@dataclass(frozen=True)
class TopicSink:
    """Rows become records of a topic; without one, the frame's `topic` column says where each row goes.

    The frame has the columns of Spark's Kafka sink: `value`, and perhaps `key`, `headers`, `topic`, `partition`. With
    `key` named, the sink makes them: the key is that column as text, the value all columns as a JSON object. With
    `encode` the value is all columns in the wire format of a registry; rows that do not fit go to `<topic>.dlq`, or to
    the topic that `dead_letters` names.
    """

    topic: str | None = None
    key: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    encode: Encode | None = None
    dead_letters: str | None = None

    def __post_init__(self) -> None:
        if self.encode is not None and self.topic is None:
            raise Misdeclared("a sink that encodes names its topic")
        if self.dead_letters is not None and self.encode is None:
            raise Misdeclared(f"the sink {self.topic} has no dead letters: it encodes nothing")

    @property
    def dead_letter_topic(self) -> str:
        return self.dead_letters or f"{self.topic}{SUFFIX}"

    @property
    def is_elsewhere(self) -> bool:
        """Whether its options name another cluster."""
        return any(name.lower() == "kafka.bootstrap.servers" for name in self.options)


@dataclass(frozen=True)
class ParquetSink:
    """Rows become files, each batch in a folder of its own (`batch=17`): a batch that is done again replaces itself."""

    path: str
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableSink:
    """Rows are appended to a table of the session's catalog."""

    table: str


@dataclass(frozen=True)
class ConsoleSink:
    """The first rows of each batch are shown on stdout."""

    rows: int = 20


@dataclass(frozen=True)
class CallSink:
    """A function is called on the driver with each batch's frame and number; it must bear being called twice."""

    function: Callable[[Frame, int], None]


@dataclass(frozen=True)
class LakeSink:
    """Each record becomes a row of a Delta table, once, whatever is killed or started again.

    The pipeline has one source of one topic, and its rows say which records they were: the columns of a topic, or
    those beside decoded fields. `options` are those of the store, such as `AWS_ENDPOINT_URL`.
    """

    path: str
    by: By = By.DAY
    options: Mapping[str, str] = field(default_factory=dict, repr=False)


Sink = TopicSink | ParquetSink | TableSink | ConsoleSink | CallSink | LakeSink


@dataclass(frozen=True)
class Every:
    """A batch each so many seconds; 0 means as soon as the one before is done."""

    seconds: float = 0.0


@dataclass(frozen=True)
class AvailableNow:
    """Everything that is there at the start, in as many batches as the limits ask for; then the end."""


Trigger = Every | AvailableNow


def unchanged(frame: Frame) -> Frame:
    """The transform of a pipeline that only carries."""
    return frame


@dataclass(frozen=True)
class Pipeline:
    """Sources, a pure function of their frames, and sinks that all get its rows.

    `transform` takes one frame for each source, in their order. `mode` is Spark's output mode. `checkpoint` is a
    folder; without one it is named after the pipeline, below the folder that the run chooses. `settings` are Spark's.
    """

    name: str
    sources: tuple[TopicSource, ...]
    sinks: tuple[Sink, ...]
    transform: Callable[..., Frame] = unchanged
    trigger: Trigger = Every()
    mode: Literal["append", "update", "complete"] = "append"
    checkpoint: str | None = None
    description: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not self.sources or not self.sinks:
            raise Misdeclared(f"pipeline {self.name}: it needs at least one source and one sink")
        for source in self.sources:
            if not source.topics or not all(source.topics):
                raise Misdeclared(f"pipeline {self.name}: a source names no topic")
        _check_lake(self)
        _check_transform(self)


def _check_lake(pipeline: Pipeline) -> None:
    """Positions in a table are those of one topic."""
    if any(isinstance(sink, LakeSink) for sink in pipeline.sinks) and (
        len(pipeline.sources) > 1 or len(pipeline.sources[0].topics) > 1
    ):
        raise Misdeclared(f"pipeline {pipeline.name}: a lake's table holds one topic, and there are several")


def _check_name(name: str) -> None:
    if len(name) > NAME_CHARS_MAX or not _NAME.fullmatch(name):
        raise Misdeclared(
            f"{name!r} is not a name for a pipeline: letters, digits, '.', '_' and '-', "
            f"at most {NAME_CHARS_MAX}, not starting with a dot"
        )


def _check_transform(pipeline: Pipeline) -> None:
    """A transform that cannot take its frames is found here rather than after Spark's start."""
    count = len(pipeline.sources)
    try:
        inspect.signature(pipeline.transform).bind(*([None] * count))
    except TypeError:
        frames = "one frame" if count == 1 else f"{count} frames"
        raise Misdeclared(f"pipeline {pipeline.name}: its transform must take {frames}, one for each source") from None
