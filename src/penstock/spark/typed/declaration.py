"""Which registry says what values are, and which of its schemas is read with. A frozen value that does nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

FormatName = Literal["avro", "json", "protobuf"]
FORMATS: Final = ("avro", "json", "protobuf")
LATEST: Final = "latest"


@dataclass(frozen=True)
class Registry:
    """Values carry the id of their schema: a zero and four bytes in front, or a GUID in a header.

    They are read with the schema of `subject` (the topic's name and `-value` unless it is said) in `version`, as it is
    when the query starts, or with the text that `schema` gives: its fields are the columns. A record of another schema
    is resolved to that one. `url` may be several with commas between them, each with a name and a password:
    `http://NAME:PASSWORD@HOST:PORT`. `message` names the message of a Protobuf file that has several.
    """

    url: str
    format: FormatName = "avro"
    subject: str | None = None
    version: int | Literal["latest"] = LATEST
    schema: str | None = None
    message: str | None = None

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"the format of a registry's values is one of {', '.join(FORMATS)}, not {self.format!r}")
        if self.schema is not None and (self.subject is not None or self.version != LATEST):
            raise ValueError("a schema is given, or a subject and its version, not both")
