"""For each setting that demands schemas: what is seen under its default and under another value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.core.base.errors import ErrorCode
from tests.schema_topic.records import schema
from tests.settings_act.asking import Pair, append, produce_request
from tests.settings_act.trial import Flip, Machine, Trial

TEXT: Final = '{"type": "record", "name": "Order", "fields": []}'
NAMED: Final = b"\0\0\0\0\7"
_REFUSED: Final = ErrorCode.INVALID_RECORD


def schemaless(trial: Trial) -> int:
    """Of a record whose key and value name no schema."""
    return append(trial.begin(topic={}), "a=1")


def under(part: str, subject: str) -> Callable[[Trial], object]:
    """Of a record whose key, or value, names a schema that is registered for a subject."""

    def error(trial: Trial) -> int:
        world = trial.begin(topic={f"penstock.{part}.schema.validation": "id"})
        world.create("_schemas")
        ask(world, schema(subject, 1, 7, TEXT), "_schemas")
        return ask(world, (NAMED, NAMED))

    return error


def ask(world: Machine, record: Pair, topic: str = "t") -> int:
    """The error code, after what may be waited for."""
    client = world.client()
    client.send(produce_request([record], world.now_ms, topic=topic), 9)
    world.pass_time(1_000)
    (answer,) = client.replies()
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def unfit(trial: Trial) -> int:
    return ask(trial.begin(topic={"penstock.value.schema.validation": "id"}), (b"a", b"1"))


_SUBJECTS: Final = {
    "key": Flip(under("key", "Order"), ("topic", _REFUSED), ("record", ErrorCode.NONE)),
    "value": Flip(under("value", "t-Order"), ("topic", _REFUSED), ("topic-record", ErrorCode.NONE)),
}
OF_SCHEMAS: Final[Mapping[str, Flip]] = {
    "penstock.key.schema.validation": Flip(schemaless, ("off", ErrorCode.NONE), ("id", _REFUSED)),
    "penstock.value.schema.validation": Flip(schemaless, ("off", ErrorCode.NONE), ("id", _REFUSED)),
    "penstock.schema.validation.on.failure": Flip(unfit, ("reject", _REFUSED), ("dlq", ErrorCode.NONE)),
    "penstock.key.subject.name.strategy": _SUBJECTS["key"],
    "penstock.value.subject.name.strategy": _SUBJECTS["value"],
}
