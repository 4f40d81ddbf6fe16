"""One file for whoever helps: what it holds, how large it gets, and that no secret is in it."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.debugging import bundle
from penstock.cli.debugging.bundle import Part
from penstock.cli.debugging.here import TAIL_BYTES_MAX, tail
from penstock.cli.debugging.redacting import Redactor
from penstock.cli.talk import Refused
from tests.cli.running import Shell, running

PLANTED = {
    "penstock.metrics.password": "planted-Metrics-1",
    "ssl.truststore.password": "planted-Store-2",
    "listener.name.plaintext.plain.sasl.jaas.config": 'x.PlainLoginModule required password="planted-Jaas-3";',
}
LOGGED = (
    "user ann came with password=planted-Log-4",
    "GET /subjects Authorization: Bearer planted-Bearer-5",
    "reading https://ann:planted-Url-6@registry:8081",
    "said planted-Jaas-3 by mistake",
    "-----BEGIN PRIVATE KEY-----\nplanted-Pem-7\n-----END PRIVATE KEY-----",
)


def read(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as tar:
        files = {member.name: tar.extractfile(member) for member in tar.getmembers()}
        return {name.removeprefix("penstock-debug/"): file.read() for name, file in files.items() if file is not None}


def made(path: Path, *parts: Part, redact: Redactor | None = None) -> dict[str, bytes]:
    bundle.write(str(path), iter(parts), redact or Redactor())
    return read(path)


def test_what_fails_says_so_in_its_place(tmp_path: Path) -> None:
    def fail() -> str:
        raise OSError(2, "No such file or directory", "/x?token=planted")

    found = made(tmp_path / "b.tar.gz", Part("a.txt", "what fails", fail), Part("b.txt", "what does not", lambda: "b"))
    assert found["a.txt"].startswith(b"not got: FileNotFoundError")
    assert b"planted" not in found["a.txt"]
    assert found["b.txt"] == b"b"
    assert b"b.txt  what does not" in found["CONTENTS.txt"]
    assert (tmp_path / "b.tar.gz").stat().st_mode & 0o077 == 0
    with pytest.raises(Refused, match="is there already"):
        made(tmp_path / "b.tar.gz")


def test_a_secret_that_is_found_late_is_hidden_in_what_came_before(tmp_path: Path) -> None:
    redact = Redactor()
    parts = (
        Part("log", "", lambda: "it was planted-late"),
        Part("settings", "", lambda: redact.settings("ssl.key.password=planted-late\n")),
    )
    assert b"planted" not in b"".join(made(tmp_path / "b.tar.gz", *parts, redact=redact).values())


def test_it_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "PART_BYTES_MAX", 100)
    monkeypatch.setattr(bundle, "BUNDLE_BYTES_MAX", 250)
    parts = [Part(f"{number}", "", lambda: "x" * 500 + "end") for number in range(9)]
    found = made(tmp_path / "b.tar.gz", *parts)
    assert found["0"].endswith(b"xend")
    assert b"403 bytes are left out" in found["0"]
    note = len("\n[cut: 000 bytes are left out]\n")
    assert sum(len(found[str(number)]) - note for number in range(9)) <= 250


def test_the_end_of_a_log_begins_with_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("first\nsecond\n" + "y" * (TAIL_BYTES_MAX - 3) + "\nz\n")
    assert tail(str(path)) == "z\n"
    path.write_text("first\nsecond\n")
    assert tail(str(path)) == "first\nsecond\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cluster at work, with secrets in its settings and in what it has said."""
    folder = tmp_path_factory.mktemp("debugged") / "data"
    options = [word for name, value in PLANTED.items() for word in ("--set", f"{name}={value}")]
    with running(folder, *options, "--set", "penstock.metrics.user=prometheus"):
        (folder / "log").write_text("\n".join(LOGGED) + "\nthe last line\n")
        yield folder


@pytest.mark.slow
def test_no_secret_is_in_it(folder: Path, shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    planned = shell("debug", "bundle", "--data-dir", folder, "--dry-run", "-o", "json")
    assert planned.code == 0, planned.err
    assert not path.exists()
    done = shell("debug", "bundle", "--data-dir", folder, "--file", path, "-o", "json")
    assert done.code == 0, done.err
    assert [each["file"] for each in json.loads(done.out)] == [each["file"] for each in json.loads(planned.out)]
    assert "not in it: records" in done.err
    found = read(path)
    assert {*found} == {"CONTENTS.txt", *(each["file"] for each in json.loads(done.out))}
    everything = b"\n".join(found.values())
    assert b"planted" not in everything
    assert [name for name, data in found.items() if data.startswith(b"not got")] == []
    # What is asked for is there, all the same.
    assert found["logs/log"].endswith(b"the last line\n")
    assert b"process.roles=broker,controller" in found["node-1/server.properties"]
    assert b"loop" in found["node-1/metrics-full.txt"]
    assert json.loads(found["cluster/quorum.json"])["leader"] == 1
    assert json.loads(found["cluster/features.json"])["metadata.version"] >= 7
    assert "penstock" in json.loads(found["versions.json"])
    assert b"in all" in found["node-1/files.txt"]
