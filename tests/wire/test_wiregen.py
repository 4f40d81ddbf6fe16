"""The generator of the declarations: what it makes of a definition, and that its output is what is committed."""

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka_peer import KAFKA_VERSION, kafka_libs
from tools.wiregen.__main__ import WIRE, write_all
from tools.wiregen.definitions import Definition, Versions, parse_all
from tools.wiregen.render import Module, snake_case

JSON_IN_JAR = re.compile(r"(?:common/)?(?:message|metadata)/\w+\.json")

DEFINITION = """
// A comment on top.
{ "apiKey": 7, "type": "request", "listeners": ["broker"], "name": "PourRequest",
  "validVersions": "2-5", "flexibleVersions": "4+",
  "fields": [
    // A comment inside.
    { "name": "OldThing", "type": "int8", "versions": "0-1" },
    { "name": "CupId", "type": "string", "versions": "0+", "nullableVersions": "3+", "default": "null" },
    { "name": "Hot", "type": "bool", "versions": "3-4", "default": "true", "ignorable": true },
    { "name": "Limit", "type": "int32", "versions": "2+", "default": "0x7fffffff" },
    { "name": "Extra", "type": "[]int16", "taggedVersions": "4+", "tag": 1, "nullableVersions": "4+", "default": null },
    { "name": "Drops", "type": "[]Drop", "versions": "0+", "fields": [
      { "name": "Size", "type": "float64", "versions": "0+" },
      { "name": "Spot", "type": "Spot", "versions": "4+", "taggedVersions": "4+", "tag": 0, "fields": [
        { "name": "TopicId", "type": "uuid", "versions": "4+" }]}
    ]}
  ]
}
"""

DECLARATION = '''"""Pours."""

from penstock.core.wire.schema import Request, Struct, array, boolean, float64, int16, int32, string, struct, uuid


class Spot(Struct):
    topic_id: bytes = uuid()


class Drop(Struct):
    size: float = float64()
    spot: Spot | None = struct(Spot, versions="4+", tag=0)


class PourRequest(Request, key=7, versions="2-5", flexible="4+"):
    cup_id: str | None = string(nullable="3+", default=None)
    hot: bool = boolean(versions="3-4", default=True, ignorable=True)
    limit: int = int32(default=2147483647)
    extra: list[int] | None = array(int16, versions="4+", nullable="4+", tag=1)
    drops: list[Drop] = array(Drop)
'''


def test_a_definition_becomes_a_declaration() -> None:
    assert Module("pour", "Pours.", [Definition.parse(DEFINITION)]).render().strip() == DECLARATION.strip()


def test_structs_of_one_name_in_request_and_response() -> None:
    raw = json.dumps(
        {
            "apiKey": 7,
            "type": "request",
            "name": "PourRequest",
            "validVersions": "0",
            "flexibleVersions": "none",
            "fields": [
                {
                    "name": "Cup",
                    "type": "Cup",
                    "versions": "0+",
                    "fields": [{"name": "Id", "type": "int8", "versions": "0+"}],
                }
            ],
        }
    )
    answer = raw.replace("request", "response").replace("PourRequest", "PourResponse")
    text = Module("pour", "Pours.", [Definition.parse(raw), Definition.parse(answer)]).render()
    assert "class RequestCup(Struct):" in text
    assert "class ResponseCup(Struct):" in text


@pytest.mark.parametrize(
    ("name", "expected"),
    [("TopicId", "topic_id"), ("ISRNodes", "isr_nodes"), ("group", "group"), ("KRaftVersion", "k_raft_version")],
)
def test_snake_case(name: str, expected: str) -> None:
    assert snake_case(name) == expected


@pytest.mark.parametrize(("text", "within", "expected"), [("3-7", "0-7", "3+"), ("3+", "0-7", "3+"), ("2", "0-7", "2")])
def test_version_ranges(text: str, within: str, expected: str) -> None:
    assert (Versions.parse(text) & Versions.parse(within)).text(Versions.parse(within)) == expected


@pytest.mark.java
def test_the_committed_modules_are_what_kafka_s_jars_say(tmp_path: Path) -> None:
    written = write_all(parse_all(definitions_in_jars(kafka_libs())), tmp_path)
    assert len(written) > 100
    for path in written:
        committed = WIRE / path.relative_to(tmp_path)
        assert path.read_text() == committed.read_text(), f"{committed.name} is not what wiregen writes"


def definitions_in_jars(libs: Path) -> Iterator[str]:
    for jar in sorted(libs.glob(f"kafka-*-{KAFKA_VERSION}.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if JSON_IN_JAR.fullmatch(name):
                    yield archive.read(name).decode()
