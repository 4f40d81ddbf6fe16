"""`penstock schema check` and `diff`: files, without a cluster."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.running import Shell

FIELDS = {"a": '{"name": "a", "type": "int"}', "b": '{"name": "b", "type": "string"}'}


@pytest.fixture
def write(tmp_path: Path) -> "Writer":
    return Writer(tmp_path)


class Writer:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, name: str, fields: str) -> Path:
        file = self._folder / name
        text = ", ".join(FIELDS[each] for each in fields)
        file.write_text(f'{{"type": "record", "name": "Order", "fields": [{text}]}}')
        return file


def test_a_schema_that_may_follow(shell: Shell, write: Writer) -> None:
    done = shell("schema", "check", write("1.avsc", "ab"), write("2.avsc", "a"))
    assert (done.code, done.out) == (0, "")
    assert "compatible (BACKWARD)" in done.err


def test_each_obstacle_is_a_line(shell: Shell, write: Writer) -> None:
    old, new = write("1.avsc", "ab"), write("2.avsc", "a")
    done = shell("schema", "check", old, new, "--compatibility", "full")
    assert done.code == 1
    assert done.out.splitlines() == [
        f"{old}: forward: READER_FIELD_MISSING_DEFAULT_VALUE at /fields/1: "
        "the reader's field b has no default, and the writer has no such field"
    ]


def test_all_older_ones_count_when_the_level_is_transitive(shell: Shell, write: Writer) -> None:
    files = write("1.avsc", ""), write("2.avsc", "ab"), write("3.avsc", "ab")
    assert shell("schema", "check", *files).code == 0
    done = shell("schema", "check", *files, "--compatibility", "BACKWARD_TRANSITIVE", "-o", "json")
    assert done.code == 1
    told = json.loads(done.out)
    assert told["compatible"] is False
    assert [(each["old"], each["type"], each["path"]) for each in told["incompatibilities"]] == [
        (str(files[0]), "READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/0"),
        (str(files[0]), "READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1"),
    ]


def test_what_changed_is_shown(shell: Shell, write: Writer, tmp_path: Path) -> None:
    old, new = write("1.avsc", "a"), write("2.avsc", "ab")
    done = shell("schema", "diff", old, new)
    assert done.code == 0
    assert '+      "name": "b",' in done.out
    assert "compatible: forward" in done.err
    told = json.loads(shell("schema", "diff", old, new, "-o", "json").out)
    assert (told["same"], told["backward"], told["forward"]) == (False, False, True)
    (tmp_path / "3.avsc").write_text(json.dumps(json.loads(old.read_text()), indent=7))
    assert "nothing changed" in shell("schema", "diff", old, tmp_path / "3.avsc").err


def test_schemas_that_refer_to_another_file(shell: Shell, write: Writer, tmp_path: Path) -> None:
    order = write("order.avsc", "a")
    list_of = tmp_path / "list.avsc"
    list_of.write_text('{"type": "array", "items": "Order"}')
    assert "Order" in shell("schema", "check", list_of, list_of).err
    assert shell("schema", "check", list_of, list_of, "--reference", f"Order={order}").code == 0


def test_files_of_protobuf(shell: Shell, tmp_path: Path) -> None:
    old, new = tmp_path / "1.proto", tmp_path / "2.proto"
    old.write_text("message M { optional int32 a = 1; }")
    new.write_text("message M { optional string a = 1; }")
    done = shell("schema", "check", old, new)
    assert (done.code, done.out.split(": ")[2]) == (1, "FIELD_SCALAR_KIND_CHANGED at #/M/1")
    assert "  optional string a = 1;" in shell("schema", "diff", old, new).out.replace("+", "")
    avro = tmp_path / "3.avsc"
    avro.write_text('"int"')
    assert "cannot follow" in shell("schema", "check", avro, new).err


def test_what_cannot_be_used_is_told(shell: Shell, write: Writer, tmp_path: Path) -> None:
    old, other = write("1.avsc", "a"), write("2.txt", "a")
    assert "--format" in shell("schema", "check", old, other).err
    assert shell("schema", "check", old, other, "--format", "avro").code == 0
    assert "xml" in shell("schema", "check", old, old, "--format", "xml").err
    assert shell("schema", "check", old).code == 2
    assert "SIDEWARD" in shell("schema", "check", old, old, "-c", "SIDEWARD").err
    assert "NAME=FILE" in shell("schema", "check", old, old, "--reference", "x").err
    assert "No such file" in shell("schema", "check", old, tmp_path / "3.avsc").err
    (tmp_path / "4.avsc").write_bytes(b"\xff\xfe\xfd")
    assert "not a text file" in shell("schema", "check", old, tmp_path / "4.avsc").err
    (tmp_path / "5.avsc").write_text("{")
    broken = shell("schema", "check", old, tmp_path / "5.avsc")
    assert (broken.code, "5.avsc: not JSON" in broken.err) == (1, True)


def test_without_the_packages_a_line_says_what_to_install(
    shell: Shell, write: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "avro.schema", None)
    told = shell("schema", "check", write("1.avsc", "a"), write("2.avsc", "a"))
    assert (told.code, "pip install 'penstock[schemas]'" in told.err) == (1, True)
