"""What a worker asks a registry: each schema once, again what may be late, and nothing of a registry that is away is a
record's fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.client.errors import ClientError
from penstock.client.registry import SCHEMA_NOT_FOUND, Refusal, Registered, RegistryClient
from penstock.schemas.model import Format
from penstock.spark.typed import writers
from penstock.spark.typed.batches import decoder_of
from penstock.spark.typed.declaration import Registry
from penstock.spark.typed.pinned import Text, pinned
from penstock.spark.typed.writers import ATTEMPTS_MAX, SECOND_LOOKS_MAX, UnknownSchema, Writers

URL = "http://nobody:1"
LONG = Registered("", 0, 7, "AVRO", '"long"')
SEVEN = b"\x00\x00\x00\x00\x07"
MISSING = Refusal(SCHEMA_NOT_FOUND, "Schema 7 not found")
AWAY = ClientError("no registry answers")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[object]]:
    """Says what is answered in turn, the last one for ever; gives the list of what was asked."""
    asked: list[object] = []

    def say(*given: Registered | Exception) -> list[object]:
        waiting = list(given)

        def answer(_: RegistryClient, id: int | str) -> Registered:
            asked.append(id)
            found = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(RegistryClient, "by_id", answer)
        monkeypatch.setattr(RegistryClient, "by_guid", answer)
        return asked

    monkeypatch.setattr(writers, "_texts", {})
    return say


def test_a_schema_is_asked_for_once_in_a_process(answers: Callable[..., list[object]]) -> None:
    asked = answers(LONG)

    for _ in range(2):
        assert Writers(URL)(SEVEN).text == '"long"'
    assert Writers(URL)(b"\x01" + bytes(16)).text == '"long"'
    assert asked == [7, "00000000-0000-0000-0000-000000000000"]


def test_a_registry_that_is_behind_is_asked_again(answers: Callable[..., list[object]]) -> None:
    answers(MISSING, LONG)
    pauses: list[float] = []

    assert Writers(URL, pauses.append)(SEVEN).format is Format.AVRO
    assert len(pauses) == 1


def test_made_up_ids_hold_a_task_up_only_so_often(answers: Callable[..., list[object]]) -> None:
    asked = answers(MISSING)
    pauses: list[float] = []
    known = Writers(URL, pauses.append)

    for number in range(3 * SECOND_LOOKS_MAX):
        for _ in range(2):
            with pytest.raises(UnknownSchema, match=f"the registry has no schema with the id {number}$"):
                known(b"\x00" + number.to_bytes(4))
    assert len(pauses) == SECOND_LOOKS_MAX
    assert len(asked) == 4 * SECOND_LOOKS_MAX


def test_a_registry_that_is_away_fails_the_task_and_no_record(
    answers: Callable[..., list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(AWAY)
    monkeypatch.setattr(writers, "PAUSE_SECONDS", 0.0)
    decoder = decoder_of(URL, Text(Format.AVRO, '"long"'))

    with pytest.raises(ClientError, match="no registry answers"):
        decoder.decode([SEVEN + b"\x02"])
    assert len(asked) == ATTEMPTS_MAX
    answers(LONG)
    assert decoder.decode([SEVEN + b"\x02"]).columns[0].to_pylist() == [1]


def test_the_schema_to_read_with_must_be_named_and_of_its_format(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(_: RegistryClient, subject: str, version: int | str) -> Registered:
        return Registered(subject, 3, 7, "JSON", "{}")

    monkeypatch.setattr(RegistryClient, "version", version)

    assert pinned(Registry(URL, "json"), ["orders"]).name == "orders-value version 3"
    with pytest.raises(ClientError, match="orders-value version 3 is a schema of json, not of avro"):
        pinned(Registry(URL), ["orders"])
    with pytest.raises(ClientError, match="which subject"):
        pinned(Registry(URL), ["orders", "payments"])
    with pytest.raises(ValueError, match="avro, json, protobuf, not 'xml'"):
        Registry(URL, "xml")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not both"):
        Registry(URL, subject="orders-value", schema='"long"')
