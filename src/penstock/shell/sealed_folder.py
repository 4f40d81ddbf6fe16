"""Whether a data folder can be opened with the keys that are given, looked at before anything else is.

A folder whose mark says that something in it may be sealed is looked at without keys, too.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator

from penstock.core.sealing.frames import HEAD_BYTES, MAGIC, Head, decode_head
from penstock.core.sealing.keys import KeyFault, KeyRing, file_secret
from penstock.core.sealing.names import holds_records
from penstock.shell.sealed_mark import is_marked, mark, unmark


def require_keys(folders: Iterable[str], ring: KeyRing | None, named_by: str) -> None:
    """Refuse what cannot be read, in one line; mark what will be sealed."""
    for folder in folders:
        if ring is None and not is_marked(folder):
            continue
        is_any = refuse_missing(folder, ring, named_by)
        if ring is not None:
            mark(folder)
        elif not is_any:
            unmark(folder)


def refuse_missing(folder: str, ring: KeyRing | None, named_by: str) -> bool:
    """Whether anything in the folder is sealed, if the keys for it are at hand."""
    missing: Counter[str] = Counter()
    is_any = False
    for path, head in heads_in(folder):
        is_any = True
        key = None if ring is None else ring.find(head.key_id)
        if key is None:
            missing[head.key_id] += 1
        elif not head.is_of(file_secret(key, head.salt)):
            raise KeyFault(
                f"{path} is encrypted under another key {head.key_id} than the one given: "
                f"{named_by} must give the old one"
            )
    if missing:
        names = ", ".join(f"{name} ({count} files)" for name, count in sorted(missing.items()))
        raise KeyFault(f"{folder} is encrypted under keys that are missing: {names}; {named_by} must give them")
    return is_any


def heads_in(folder: str) -> Iterator[tuple[str, Head]]:
    """Every sealed file below a folder whose head can be read. One whose head is damaged asks for no key: nothing opens
    it."""
    for path in sealable_in(folder):
        head = head_of(path)
        if head is not None and head.is_whole:
            yield path, head


def sealable_in(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in filter(holds_records, names):
            yield os.path.join(parent, name)


def head_of(path: str) -> Head | None:
    """None for a file that is plain, or gone."""
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read(HEAD_BYTES)
    except FileNotFoundError:
        return None
    return decode_head(data) if len(data) == HEAD_BYTES and data.startswith(MAGIC) else None
