"""What a registry answers: the paths, codes and words of Confluent's REST API."""

import json

import pytest

from tests.registry.world import Answer, Rest, optional, record

A, A_B, A_MORE = record("A", "a"), record("A", "a", optional("b")), record("A", "a", "b")


def test_a_schema_is_registered_once(rest: Rest) -> None:
    first = rest.register("once", A)
    assert (first.status, first.body["version"]) == (200, 1)
    assert rest.register("once", json.dumps(A, indent=3)).body == first.body
    reordered = dict(reversed(A.items()))
    assert rest.register("once", reordered).body["id"] == first.body["id"]
    assert rest.register("twice", A).body["id"] == first.body["id"], "an id is the content's"
    assert rest.get("/subjects/once/versions").body == [1]


def test_a_schema_is_found_from_all_sides(rest: Rest) -> None:
    made = rest.register("sides-value", A_B).body
    by_id = rest.get(f"/schemas/ids/{made['id']}").body
    assert json.loads(by_id["schema"]) == A_B
    assert by_id["schemaType"] == "AVRO"
    assert rest.get(f"/schemas/guids/{made['guid']}").body["schema"] == by_id["schema"]
    assert rest.get(f"/schemas/guids/{made['guid']}/ids").body == [{"context": ".", "id": made["id"]}]
    assert json.loads(rest.get(f"/schemas/ids/{made['id']}/schema").body) == A_B
    assert "sides-value" in rest.get(f"/schemas/ids/{made['id']}/subjects").body
    assert {"subject": "sides-value", "version": 1} in rest.get(f"/schemas/ids/{made['id']}/versions").body
    latest = rest.get("/subjects/sides-value/versions/latest").body
    assert (latest["subject"], latest["version"], latest["id"]) == ("sides-value", 1, made["id"])
    assert rest.post("/subjects/sides-value", A_B).body["version"] == 1
    assert rest.get("/schemas?subjectPrefix=sides").body == [latest]
    assert rest.get("/schemas/types").body == ["JSON", "PROTOBUF", "AVRO"]


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/subjects/none/versions", 40401),
        ("GET", "/subjects/none/versions/1", 40401),
        ("GET", "/subjects/none/versions/latest", 40401),
        ("GET", "/subjects/none/versions/0", 42202),
        ("GET", "/subjects/none/versions/x", 42202),
        ("GET", "/schemas/ids/99999", 40403),
        ("GET", "/schemas/guids/x", 40403),
        ("DELETE", "/subjects/none", 40401),
        ("DELETE", "/subjects/none/versions/1", 40401),
        ("GET", "/config/none", 40408),
        ("GET", "/mode/none", 40409),
        ("DELETE", "/config/none", 40401),
        ("DELETE", "/mode/none", 40401),
        ("GET", "/nowhere", 404),
        ("PUT", "/subjects", 405),
    ],
)
def test_what_is_not_there(rest: Rest, method: str, path: str, code: int) -> None:
    answer = rest.ask(method, path)
    assert (answer.status, answer.code) == (int(str(code)[:3]), code)


def test_a_version_that_is_not_there(rest: Rest) -> None:
    rest.register("one-version", A)
    answer = rest.get("/subjects/one-version/versions/7")
    assert answer == Answer(404, {"error_code": 40402, "message": "Version 7 not found."})
    assert rest.post("/subjects/one-version", A_MORE).code == 40403


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", 400),
        (b"[]", 400),
        ({"schema": 5}, 400),
        ({}, 42201),
        ({"schema": ""}, 42201),
        ({"schema": "{"}, 42201),
        ({"schema": '{"type":"nothing"}'}, 42201),
        ({"schema": '"int"', "schemaType": "XML"}, 42201),
        ({"schema": "syntax", "schemaType": "PROTOBUF"}, 42201),
        ({"schema": "!!!!", "schemaType": "PROTOBUF"}, 42201),
        ({"schema": '"int"', "references": [{"name": "x", "subject": "none", "version": 1}]}, 42201),
        ({"schema": '"int"', "references": [{}]}, 42201),
        ({"schema": '"int"', "version": 5}, 42201),
        ({"schema": '"int"', "id": 5}, 42205),
        ({"schema": '"int"', "ruleSet": {"domainRules": [{"name": "r"}]}}, 42210),
        ({"schema": '"int"', "metadata": {"properties": {"a": 5}}}, 400),
    ],
)
def test_what_cannot_be_registered(rest: Rest, body: object, code: int) -> None:
    answer = rest.ask("POST", "/subjects/bad/versions", body)
    assert answer.code == code
    assert rest.get("/subjects/bad/versions").code == 40401


def test_subjects_that_nobody_may_have(rest: Rest) -> None:
    for name in ("__GLOBAL", "__EMPTY", "a\x01b", ":.__GLOBAL:x"):
        assert rest.register(name, A).code == 42208


def test_another_media_type_is_refused(rest: Rest) -> None:
    assert Rest(rest.port, {"content-type": "text/xml"}).register("media", A).status == 415
    for kind in ("application/json", "application/vnd.schemaregistry+json; charset=utf-8"):
        assert Rest(rest.port, {"content-type": kind}).register("media", A).status == 200


def test_a_change_that_breaks_readers_is_refused(rest: Rest) -> None:
    rest.register("strict", A)
    answer = rest.register("strict", A_MORE)
    assert (answer.status, answer.code) == (409, 40901)
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in answer.body["message"]
    check = "/compatibility/subjects/strict/versions"
    assert rest.post(f"{check}/latest", A_MORE).body == {"is_compatible": False}
    verbose = rest.post(f"{check}?verbose=true", A_MORE).body
    assert not verbose["is_compatible"]
    assert any("oldSchemaVersion:1" in each for each in verbose["messages"])
    assert rest.post(f"{check}/1?verbose=true", A_B).body == {"is_compatible": True, "messages": []}
    assert rest.post(f"{check}/9", A_B).code == 40402
    assert rest.post("/compatibility/subjects/nobody/versions/latest", A).body == {"is_compatible": True}
    assert rest.put("/config/strict", compatibility="none").body == {"compatibility": "NONE"}
    assert rest.register("strict", A_MORE).body["version"] == 2
    assert rest.get("/config/strict").body == {"compatibilityLevel": "NONE"}


def test_all_versions_count_where_the_level_is_transitive(rest: Rest) -> None:
    rest.put("/config/deep", compatibility="BACKWARD_TRANSITIVE")
    rest.register("deep", record("D", "a"))
    rest.register("deep", record("D"))
    assert rest.register("deep", record("D", "a", "b")).status == 409
    refused = rest.register("deep", record("D", {"name": "a", "type": "string", "default": ""}))
    assert "oldSchemaVersion:1" in refused.body["message"]


def test_settings_of_a_subject_come_and_go(rest: Rest) -> None:
    assert rest.put("/config/set", compatibility="WRONG").code == 42203
    assert rest.put("/mode/set", mode="WRONG").code == 42204
    assert rest.get("/config/set?defaultToGlobal=true").body == {"compatibilityLevel": "BACKWARD"}
    rest.put("/config/set", compatibility="FULL", normalize=True)
    assert rest.get("/config/set").body == {"compatibilityLevel": "FULL", "normalize": True}
    assert rest.put("/config/set", alias="other").status == 422, "what does nothing is not accepted"
    assert rest.delete("/config/set").body["compatibilityLevel"] == "FULL"
    assert rest.get("/config/set").code == 40408
    assert rest.put("/mode/set", mode="READONLY").body == {"mode": "READONLY"}
    assert rest.register("set", A).code == 42205
    assert rest.get("/mode/set").body == {"mode": "READONLY"}
    assert rest.delete("/mode/set").body == {"mode": "READONLY"}
    assert rest.get("/mode/set?defaultToGlobal=true").body == {"mode": "READWRITE"}


def test_soft_and_hard_deletion(rest: Rest) -> None:
    first = rest.register("gone", A).body["id"]
    rest.register("gone", A_B)
    assert rest.delete("/subjects/gone/versions/1?permanent=true").code == 40407
    assert rest.delete("/subjects/gone/versions/1").body == 1
    assert rest.delete("/subjects/gone/versions/1").code == 40406
    assert rest.get("/subjects/gone/versions").body == [2]
    assert rest.get("/subjects/gone/versions?deleted=true").body == [1, 2]
    assert rest.get("/subjects/gone/versions?deletedAsNegative=true").body == [-1, 2]
    assert rest.get("/subjects/gone/versions?deletedOnly=true").body == [1]
    assert rest.get(f"/schemas/ids/{first}").status == 200
    assert rest.register("gone", A).body["id"] == first, "its content has this id"
    assert rest.delete("/subjects/gone?permanent=true").code == 40405
    assert rest.delete("/subjects/gone").body == [2, 3]
    assert rest.delete("/subjects/gone").code == 40404
    assert "gone" not in rest.get("/subjects").body
    assert "gone" in rest.get("/subjects?deleted=true").body
    assert "gone" in rest.get("/subjects?deletedOnly=true").body
    assert rest.delete("/subjects/gone?permanent=true").body == [2, 3]
    assert rest.get("/subjects/gone/versions?deleted=true").code == 40401


def test_an_id_is_not_given_again(rest: Rest) -> None:
    last = rest.register("last", record("Last", "x")).body["id"]
    rest.delete("/subjects/last")
    rest.delete("/subjects/last?permanent=true")
    assert rest.get(f"/schemas/ids/{last}").code == 40403
    assert rest.register("next", record("Next", "x")).body["id"] > last


def test_references_hold_what_they_refer_to(rest: Rest) -> None:
    rest.register("base", record("Base", "x"))
    user = record("User", {"name": "b", "type": "Base"})
    reference = {"name": "Base", "subject": "base", "version": 1}
    assert rest.register("user", user).code == 42201
    made = rest.register("user", user, references=[reference])
    assert made.body["references"] == [reference]
    assert rest.get("/subjects/base/versions/1/referencedby").body == [made.body["id"]]
    assert rest.delete("/subjects/base/versions/1").code == 42206
    assert rest.delete("/subjects/base").code == 42206
    deep = record("Deep", {"name": "u", "type": "User"})
    nested = {"name": "User", "subject": "user", "version": 1}
    assert rest.register("deepest", deep, references=[nested]).status == 200
    rest.delete("/subjects/deepest")
    assert rest.delete("/subjects/user").body == [1]
    assert rest.delete("/subjects/base").body == [1]


def test_schemas_with_ids_are_imported(rest: Rest) -> None:
    assert rest.put("/mode/:.mirror:", mode="IMPORT").body == {"mode": "IMPORT"}
    made = rest.register(":.mirror:s", A, id=500, version=7)
    assert (made.body["id"], made.body["version"]) == (500, 7)
    assert rest.register(":.mirror:t", A_B, id=500).code == 42205, "an id has one schema"
    assert rest.register(":.mirror:u", A_B).code == 42205, "without an id nothing is imported"
    rest.put("/mode/:.mirror:", mode="READWRITE")
    assert rest.register(":.mirror:u", A_B).body["id"] == 501
    assert rest.put("/mode/:.mirror:", mode="IMPORT").code == 42205
    assert rest.put("/mode/:.mirror:?force=true", mode="IMPORT").status == 200


def test_contexts(rest: Rest) -> None:
    made = rest.ask("POST", "/contexts/.team/subjects/s/versions", {"schema": json.dumps(A_MORE)})
    assert made.body["id"] == 1
    assert ".team" in rest.get("/contexts").body
    assert rest.get("/contexts/.team/subjects").body == [":.team:s"]
    assert ":.team:s" not in rest.get("/subjects?subjectPrefix=").body
    assert ":.team:s" in rest.get("/subjects").body
    assert json.loads(rest.get("/contexts/.team/schemas/ids/1").body["schema"]) == A_MORE
    assert rest.get("/schemas/ids/1?subject=:.team:s").body["subject"] == ":.team:s"
    rest.put("/contexts/team/config", compatibility="FULL")
    assert rest.get("/config/:.team:").body == {"compatibilityLevel": "FULL"}
    assert rest.get("/config/:.team:s?defaultToGlobal=true").body == {"compatibilityLevel": "FULL"}
    assert rest.delete("/contexts/.team").code == 42211
    rest.delete("/subjects/:.team:s")
    rest.delete("/subjects/:.team:s?permanent=true")
    assert rest.delete("/contexts/.team").status == 204


def test_metadata_and_rules_are_kept(rest: Rest) -> None:
    metadata = {"properties": {"owner": "x"}, "tags": {"a.b": ["PII"]}}
    rules = {"domainRules": [{"name": "r", "kind": "CONDITION", "type": "CEL", "mode": "WRITE", "expr": "true"}]}
    made = rest.register("ruled", A, metadata=metadata, ruleSet=rules).body
    assert (made["metadata"], made["ruleSet"]) == (metadata, rules)
    assert rest.register("ruled", A).body["id"] == made["id"], "what the version before has stays"
    assert rest.get("/subjects/ruled/metadata?key=owner&value=x").body["id"] == made["id"]
    assert rest.get("/subjects/ruled/metadata?key=owner&value=y").code == 40403
    other = rest.register("ruled", A, metadata={"properties": {"owner": "y"}}).body
    assert other["id"] != made["id"]


def test_normalized_schemas_are_the_same(rest: Rest) -> None:
    first = rest.register("normal", {"fields": [], "type": "record", "name": "N"}).body
    looked = rest.post("/subjects/normal?normalize=true", {"name": "N", "type": "record", "fields": []})
    assert looked.body["version"] == first["version"]


def test_what_the_registry_says_of_itself(rest: Rest) -> None:
    assert rest.get("/").body == {}
    scope = rest.get("/v1/metadata/id").body["scope"]["clusters"]
    assert scope["schema-registry-cluster"] == "schema-registry"
    assert scope["kafka-cluster"]
    assert rest.get("/v1/metadata/version").body["version"]
    assert rest.get("/config").body == {"compatibilityLevel": "BACKWARD"}
    assert rest.get("/mode").body == {"mode": "READWRITE"}
