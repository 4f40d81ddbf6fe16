"""The walk from head to head says of no batch that it is usual, of which the slow way finds otherwise."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.records.batch import read_header
from penstock.core.records.build import build_batch
from penstock.core.records.errors import CorruptBatch
from penstock.core.records.fitting import SCHEMAS_MAX, has_usual_heads, misfits
from penstock.core.records.record import read_body
from penstock.core.records.schema_ids import (
    Demand,
    Known,
    Misfit,
    Named,
    SchemasWanted,
    SchemaText,
    demands_of,
    known_of,
    named_in_header,
    named_in_payload,
)

VALUES = (Demand(False, "id", "topic"),)
READ = (Demand(False, "payload", "topic"),)
GOOD = Named(False, 7)
KNOWN = known_of({GOOD: None, Named(False, 8): "which is not registered"}, None)


def a_batch(values: list[bytes | None], **varied: object) -> bytes:
    records = [
        (varied.get("key"), value, varied.get("headers", ()), 1_000 + 70 * at) for at, value in enumerate(values)
    ]
    return bytes(build_batch(records))  # type: ignore[arg-type]


def walked(batch: bytes) -> bool:
    header = read_header(batch)
    return has_usual_heads(read_body(batch, 0, header), 0, header.count, KNOWN.heads)


def found(batch: bytes, known: Known = KNOWN, demands: tuple[Demand, ...] = VALUES) -> list[tuple[int, str]]:
    header = read_header(batch)
    return misfits(header, read_body(batch, 0, header), demands, known)


def value(id: int, size: int = 3) -> bytes:
    return b"\0" + id.to_bytes(4, "big") + b"x" * size


@pytest.mark.parametrize("size", [0, 1, 50, 57, 58, 63, 64, 120, 8_000])
@pytest.mark.parametrize("key", [None, b"", b"k" * 70, b"k" * 8_192])
def test_what_is_usual_is_found_by_the_walk(size: int, key: bytes | None) -> None:
    batch = a_batch([value(7, size)] * 200, key=key)
    # Sizes of three bytes are left to the slow way.
    assert walked(batch) == (size + len(key or b"") < 8_150)
    assert found(batch) == []


def test_what_is_not_is_left_to_the_slow_way() -> None:
    for values in ([value(7), b"plain"], [value(7), None], [b""], [value(7), b"\0\0\0\0"]):
        assert not walked(a_batch(values))
    assert not walked(a_batch([value(7)], headers=(("a", b"b"),)))


def test_bytes_that_lie_are_never_usual() -> None:
    """Whatever a reader finds wrong, or fits not, the walk does not pass."""
    random = Random(7)
    passed = 0
    for _ in range(20_000):
        key = random.choice([None, b"", b"key", value(7)])
        batch = bytearray(a_batch([value(7, random.randrange(90)) for _ in range(random.randrange(1, 4))], key=key))
        for _ in range(random.randrange(3)):
            batch[random.randrange(61, len(batch))] = random.choice([0, 1, 2, 3, 7, 127, 128, 255])
        header = read_header(batch)
        if not has_usual_heads(bytes(batch), 61, header.count, KNOWN.heads):
            continue
        passed += 1
        try:
            assert found(bytes(batch)) == []
            slow = misfits(header, bytes(batch[61:]), (*VALUES, Demand(True, "id", "topic")), KNOWN)
        except (CorruptBatch, SchemasWanted):
            # Times and offsets of records are not looked at, nor are keys of which nothing was said.
            continue
        assert all(reason.startswith("its key") for _, reason in slow)
    assert passed > 1_000


def test_all_schemas_that_are_not_known_are_asked_for_at_once() -> None:
    with pytest.raises(SchemasWanted) as wanted:
        found(a_batch([value(7), value(9), b"plain", value(10), value(9)]))
    assert wanted.value.schemas == {Named(False, 9), Named(False, 10)}


def test_a_batch_names_so_many_schemas_and_no_more() -> None:
    with pytest.raises(SchemasWanted) as wanted:
        found(a_batch([value(100 + number) for number in range(SCHEMAS_MAX + 1)]))
    assert len(wanted.value.schemas) == SCHEMAS_MAX


def test_payloads_are_given_to_the_check_of_their_schema() -> None:
    text = SchemaText("AVRO", '"string"')
    seen: list[bytes] = []

    def check(payload: bytes) -> Misfit | None:
        seen.append(payload)
        return Misfit("a.b", "is no number") if payload == b"bad" else None

    known = Known({GOOD: text}, lambda given: check)
    batch = a_batch([value(7, 0) + b"good", value(7, 0) + b"bad"])
    assert found(batch, known, READ) == [(1, "value.a.b does not fit schema 7: is no number")]
    assert seen == [b"good", b"bad"]


def test_a_schema_that_nobody_can_read_is_the_reason() -> None:
    def fail(text: SchemaText) -> None:
        raise ValueError("it needs a package")

    text = SchemaText("AVRO", '"string"')
    reason = "its value names schema 7, which this broker cannot read"
    assert found(a_batch([value(7)]), Known({GOOD: text}, fail), READ) == [(0, f"{reason}: it needs a package")]  # type: ignore[arg-type]
    assert found(a_batch([value(7)]), Known({GOOD: text}, None), READ) == [(0, reason)]


def test_what_follows_the_name_of_the_schema_is_the_payload() -> None:
    assert named_in_payload(True, value(9, 1)) == (Named(True, 9), b"x")
    assert named_in_header(False, b"\1" + b"g" * 16 + b"\0", b"rest") == (Named(False, b"g" * 16), b"\0rest")
    assert named_in_header(False, b"\0\0\0\0\5\2", b"rest") == (Named(False, 5), b"\2rest")
    for data in (b"", b"\1short", b"\0\0\0\0", b"\2" + b"g" * 16):
        assert isinstance(named_in_header(False, data, b""), str)


def test_nothing_is_demanded_where_both_are_off() -> None:
    assert demands_of(("off", "topic"), ("off", "record")) == ()
    assert demands_of(("off", "topic"), ("id", "record")) == (Demand(False, "id", "record"),)
