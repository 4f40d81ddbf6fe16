"""Reads Kafka's message definitions: JSON with comments, one message per file."""

import json
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

FOLDERS = (
    "clients/src/main/resources/common/message",
    "group-coordinator/src/main/resources/common/message",
    "transaction-coordinator/src/main/resources/common/message",
    "share-coordinator/src/main/resources/common/message",
    "metadata/src/main/resources/common/metadata",
    "raft/src/main/resources/common/message",
    "storage/src/main/resources/message",
)

VERSION_MAX = 0x7FFF


@dataclass(frozen=True)
class Versions:
    """A range of versions, empty when `first` is beyond `last`."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str | None) -> "Versions":
        if not text or text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), VERSION_MAX)
        first, _, last = text.partition("-")
        return cls(int(first), int(last or first))

    def __bool__(self) -> bool:
        return self.first <= self.last

    def __and__(self, other: "Versions") -> "Versions":
        return Versions(max(self.first, other.first), min(self.last, other.last))

    def text(self, within: "Versions") -> str:
        """The range as a declaration writes it: open at the end when it lasts as long as `within`."""
        if self.last >= within.last:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True)
class Definition:
    """One message file."""

    name: str
    type: str
    api_key: int | None
    listeners: tuple[str, ...]
    versions: Versions
    flexible: Versions
    latest_unstable: bool
    fields: list[dict[str, Any]]
    common: dict[str, list[dict[str, Any]]]

    @classmethod
    def parse(cls, text: str) -> "Definition":
        raw = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
        return cls(
            name=raw["name"],
            type=raw["type"],
            api_key=raw.get("apiKey"),
            listeners=tuple(raw.get("listeners", ())),
            versions=Versions.parse(raw["validVersions"]),
            flexible=Versions.parse(raw.get("flexibleVersions")),
            latest_unstable=bool(raw.get("latestVersionUnstable", False)),
            fields=raw.get("fields", []),
            common={shared["name"]: shared["fields"] for shared in raw.get("commonStructs", ())},
        )


def load(tree: Path) -> dict[str, Definition]:
    """Every message that still has a version, by name."""
    return parse_all(file.read_text() for folder in FOLDERS for file in sorted((tree / folder).glob("*.json")))


def parse_all(texts: Iterable[str]) -> dict[str, Definition]:
    definitions = map(Definition.parse, texts)
    return {definition.name: definition for definition in definitions if definition.versions}


@contextmanager
def source_tree(source: Path, branch: str) -> Iterator[Path]:
    """The folder of Kafka's source: `source` itself, or a branch of it when it is a git directory without files."""
    if (source / FOLDERS[0]).is_dir():
        yield source
        return
    command = ["git", f"--git-dir={source}", "archive", branch, *FOLDERS]
    archive = subprocess.run(command, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)
