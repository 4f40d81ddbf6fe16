"""Records of `_schemas`, as Confluent's registry writes them."""

import json
from typing import Any

Record = tuple[bytes, bytes | None]


def schema(subject: str, version: int, id: int, text: str = '"string"', **more: Any) -> Record:
    key = f'{{"keytype":"SCHEMA","subject":"{subject}","version":{version},"magic":1}}'
    value = {"subject": subject, "version": version, "id": id, "schema": text, "deleted": False, **more}
    return key.encode(), json.dumps(value).encode()


def gone(record: Record) -> Record:
    return record[0], None


def about(kind: str, subject: str | None, **value: Any) -> Record:
    key = {"keytype": kind, "subject": subject, "magic": 0}
    written = json.dumps({name: each for name, each in key.items() if each is not None}, separators=(",", ":"))
    return written.encode(), json.dumps({"subject": subject, **value}).encode()
