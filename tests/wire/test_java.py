"""Differential test against Kafka's own codecs, which know every message and version there is."""

import base64
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from penstock.core.wire.fields import BLOB, RECORDS, Field, has_records
from penstock.core.wire.schema import Message, Struct
from tests.examples import scaled
from tests.kafka_peer import kafka_libs
from tests.kafka_peer.libs import program
from tests.wire.arbitrary import Arbitrary
from tests.wire.catalog import all_versions
from tests.wire.naive import default_of

EXAMPLES = scaled(4)
ORACLE = Path(__file__).parent / "java" / "WireOracle.java"
ORACLE_TIMEOUT_S = 120
WITHHELD = ""
"""What Kafka's converters write in place of record batches."""


def ask_kafka(questions: list[tuple[type[Message], int, bytes]]) -> list[list[str]]:
    """For each message: its bytes as Kafka writes them, the same by way of JSON, and that JSON."""
    lines = "".join(f"{message.__name__} {version} {data.hex()}\n" for message, version, data in questions)
    command = [program("java"), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{kafka_libs()}/*", str(ORACLE)]
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, timeout=ORACLE_TIMEOUT_S, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    answers = [line.split(" ", 2) for line in done.stdout.split("\n")[:-1]]
    assert len(answers) == len(questions)
    return answers


def our_json(value: Any, field: Field | None, version: int) -> Any:
    """A value as Kafka's converters write it, with names in our spelling."""
    if isinstance(value, list):
        assert field is not None
        return [our_json(item, field.element, version) for item in value]
    if isinstance(value, Struct):
        return struct_json(value, version)
    if value is not None and field is not None:
        if field.kind == "uuid":
            return base64.urlsafe_b64encode(value).decode().rstrip("=")
        if field.kind == BLOB:
            return base64.b64encode(value).decode()
        if field.kind == RECORDS:
            return WITHHELD
    return value


def struct_json(value: Struct, version: int) -> dict[str, Any]:
    members = {}
    for field in type(value).SPEC.fields:
        inner = getattr(value, field.name)
        silent = field.tagged_in(version) and inner == default_of(field)
        if field.exists_in(version) and not silent:
            members[field.name] = our_json(inner, field, version)
    return members


def in_our_spelling(value: Any) -> Any:
    if isinstance(value, list):
        return [in_our_spelling(item) for item in value]
    if isinstance(value, dict):
        return {snake_case(name): in_our_spelling(item) for name, item in value.items()}
    return value


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


@pytest.mark.java
def test_kafka_writes_the_same_bytes_and_reads_the_same_values() -> None:
    values = []
    for message, version in all_versions():
        source = Arbitrary(f"java {message.__name__} {version}")
        values += [(source.message(message, version), version) for _ in range(EXAMPLES)]
    answers = ask_kafka([(type(value), version, value.encode(version)) for value, version in values])
    for (value, version), (encoded, by_way_of_json, text) in zip(values, answers, strict=True):
        title = f"{type(value).__name__} version {version}: {text[:300]}"
        assert encoded == value.encode(version).hex(), title
        if not has_records(type(value).SPEC, version):
            assert by_way_of_json == encoded, title
        assert in_our_spelling(json.loads(text)) == struct_json(value, version), title
