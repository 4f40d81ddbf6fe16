"""The fold of `_schemas`: topics as Confluent's registry writes them, and topics that nobody should have written."""

import hashlib

import pytest

from penstock.core.schemas import table as tables
from penstock.core.schemas.records import Key, key_bytes, read_key, schema_value
from penstock.core.schemas.stored import StoredReference, guid_of
from penstock.core.schemas.table import SchemaTable
from tests.schema_topic.records import Record, about, gone, schema


def folded(*records: Record) -> SchemaTable:
    table = SchemaTable()
    for key, value in records:
        table.replay(key, value)
    return table


def test_versions_of_a_subject() -> None:
    table = folded(schema("s", 1, 1), schema("s", 2, 2, '"long"'), schema("t", 1, 1))
    assert [each.version for each in table.versions("s")] == [1, 2]
    assert table.subjects() == ["s", "t"]
    assert (latest := table.latest("s")) is not None
    assert (latest.id, latest.text, latest.type) == (2, '"long"', "AVRO")
    assert [(each.subject, each.version) for each in table.all_by_id(1)] == [("s", 1), ("t", 1)]
    assert table.last_id(".") == 2


def test_a_softly_deleted_version_is_still_found_by_its_id() -> None:
    table = folded(schema("s", 1, 1), schema("s", 2, 2, '"long"'), schema("s", 2, 2, '"long"', deleted=True))
    assert [each.version for each in table.versions("s")] == [1]
    assert [each.version for each in table.versions("s", deleted=True)] == [1, 2]
    assert (found := table.by_id(2)) is not None
    assert found.deleted


def test_a_tombstone_takes_a_version_away() -> None:
    first = schema("s", 1, 1)
    table = folded(first, gone(first))
    assert (table.by_id(1), table.by_guid(guid_of('"string"')), table.subjects(deleted=True)) == (None, None, [])
    assert table.last_id(".") == 1, "an id is not given again"


def test_a_subject_is_deleted_up_to_a_version() -> None:
    table = folded(
        schema("s", 1, 1),
        schema("s", 2, 2, '"long"'),
        about("DELETE_SUBJECT", "s", version=1),
    )
    assert [each.version for each in table.versions("s")] == [2]


def test_a_cleared_context_loses_what_was_deleted_in_it() -> None:
    table = folded(
        schema(":.c:s", 1, 1, deleted=True),
        schema(":.c:t", 1, 2, '"long"'),
        schema("s", 1, 1, deleted=True),
        about(
            "CLEAR_SUBJECT",
            ":.c:",
        ),
    )
    assert table.subjects(deleted=True) == [":.c:t", "s"]


def test_contexts_have_ids_of_their_own() -> None:
    table = folded(schema("s", 1, 1), schema(":.c:s", 1, 1, '"long"'))
    assert table.contexts() == [".", ".c"]
    assert (here := table.by_id(1)) is not None
    assert (there := table.by_id(1, ".c")) is not None
    assert (here.text, there.text) == ('"string"', '"long"')


def test_an_id_keeps_its_text() -> None:
    table = folded(schema("s", 1, 1), schema("t", 1, 1, '"long"'))
    assert table.passed_over == 1
    assert table.subjects() == ["s"]


def test_references_are_found_from_both_ends() -> None:
    table = folded(
        schema(":.c:base", 1, 1),
        schema(":.c:s", 1, 2, '"long"', references=[{"name": "b", "subject": "base", "version": 1}]),
    )
    assert [each.id for each in table.referenced_by(":.c:base", 1)] == [2]
    table.replay(*schema(":.c:s", 1, 2, '"long"', deleted=True, references=[]))
    assert table.referenced_by(":.c:base", 1) == []


def test_settings_of_a_subject_its_context_and_all() -> None:
    table = folded(
        about("CONFIG", ":.__GLOBAL:", compatibilityLevel="NONE"),
        about("CONFIG", ":.c:", compatibilityLevel="FULL"),
        about("CONFIG", "s", compatibilityLevel="FORWARD", normalize=True),
        about("MODE", None, mode="READONLY"),
    )
    assert table.config("s") == {"compatibilityLevel": "FORWARD", "normalize": True}
    assert table.config(":.c:s") == {"compatibilityLevel": "FULL"}
    assert table.config("other") == {"compatibilityLevel": "NONE"}
    assert table.own_config("other") is None
    assert (table.mode("s"), table.mode(":.c:s")) == ("READONLY", None)
    table.replay(about("MODE", None)[0], None)
    assert table.mode("s") is None


def test_the_last_id_outlives_its_schema() -> None:
    table = folded((b'{"keytype":"CONTEXT","tenant":"default","context":".c"}', b'{"context":".c","lastId":7}'))
    assert table.last_id(".c") == 7
    assert table.contexts() == [".", ".c"]


def test_a_key_is_spelled_as_the_topic_spells_it() -> None:
    """Another registry's order of members, or a null that Confluent once wrote."""
    other = b'{"subject": "s", "version": 1, "magic": 1, "keytype": "SCHEMA"}'
    table = folded((other, schema("s", 1, 1)[1]), (b'{"keytype":"CONFIG","subject":null,"magic":0}', b"{}"))
    assert table.key_bytes(Key("SCHEMA", "s", 1)) == other
    assert table.key_bytes(Key("CONFIG")) == b'{"keytype":"CONFIG","subject":null,"magic":0}'
    table.replay(*schema("s", 1, 1))
    assert table.key_bytes(Key("SCHEMA", "s", 1)) == key_bytes(Key("SCHEMA", "s", 1))


@pytest.mark.parametrize(
    "record",
    [
        (b"", b"{}"),
        (b"\xff\xfe", b"{}"),
        (b"[" * 100_000, b"{}"),
        (b"[]", b"{}"),
        (b'{"keytype":"SCHEMA","subject":"s","version":0,"magic":1}', b"{}"),
        (b'{"keytype":"SCHEMA","subject":5,"version":1,"magic":1}', b"{}"),
        (schema("s", 1, 1)[0], b"{"),
        (schema("s", 1, 1)[0], b'{"id":1}'),
        (schema("s", 1, 1)[0], b'{"id":true,"schema":"x"}'),
        (schema("s", 1, 1)[0], b'{"id":99999999999,"schema":"x"}'),
        (schema("s", 1, 1)[0], b'{"id":1,"schema":"x","references":[{"name":"x"}]}'),
    ],
)
def test_what_cannot_be_read_is_passed_over(record: Record) -> None:
    table = folded(record)
    assert table.passed_over == 1
    assert table.subjects(deleted=True) == []


def test_what_nobody_here_knows_is_no_trouble() -> None:
    table = folded(
        (b'{"keytype":"NOOP","magic":0}', None),
        (b'{"keytype":"ASSOC","tenant":"default"}', b'{"guid":"x"}'),
        schema("s", 1, 1, schemaTags=[], ts=1, metadata={"tags": 5}, ruleSet={"domainRules": [7]}),
    )
    assert table.passed_over == 0
    assert table.subjects() == ["s"]


def test_a_full_table_takes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "TEXT_CHARS_MAX", 10)
    table = folded(schema("s", 1, 1), schema("s", 2, 2, '"long"'))
    assert table.passed_over == 1
    assert [each.id for each in table.versions("s")] == [1]


def test_what_is_written_reads_back() -> None:
    reference = {"name": "b", "subject": "base", "version": 1}
    record = schema("s", 3, 4, "{}", schemaType="JSON", references=[reference], metadata={"properties": {"a": "b"}})
    table = folded(record)
    assert (stored := table.get("s", 3)) is not None
    assert stored.references == (StoredReference("b", "base", 1),)
    assert read_key(key_bytes(Key("SCHEMA", "s", 3))) == Key("SCHEMA", "s", 3)
    assert folded((record[0], schema_value(stored))).get("s", 3) == stored


def test_a_guid_is_the_md5_of_all_parts_in_confluents_order() -> None:
    """Held against the golden hashes of Confluent's own tests, too, which are theirs."""
    metadata = {"properties": {"b": "2", "a": "1"}, "tags": {"t": ["z", "y"]}, "sensitive": ["s"]}
    rule_set = {"domainRules": [{"name": "r", "type": "CEL", "params": {"p": "q"}, "expr": "e", "disabled": True}]}
    found = guid_of("{}", [StoredReference("n", "s", 258)], metadata, rule_set)
    parts = b"{}" + b"ns\0\0\1\2" + b"\1" + b"tyz" + b"a1b2" + b"s" + b"\1" + b"rTRANSFORMWRITEREADCELpqe\1"
    assert found.replace("-", "") == hashlib.md5(parts, usedforsecurity=False).hexdigest()
