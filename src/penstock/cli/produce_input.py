"""What `penstock produce` reads: lines of stdin or of files, in groups that end where nothing more is there now."""

import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from penstock.cli.talk import Refused, say

READ_BYTES = 1 << 20
LINE_BYTES_MAX = 64 << 20


def chunks(files: list[Path], whole: bool) -> Iterator[list[bytes]]:
    """Lines, in groups that end where the source has nothing more right now."""
    for path in files:
        try:
            with path.open("rb") as file:
                yield from _lines(file, whole)
        except OSError as failure:
            raise Refused(f"cannot read {path}: {failure.strerror}", "what was read before it has been sent") from None
    if not files:
        if sys.stdin.isatty():
            say("type records, one a line; end with ctrl-d")
        yield from _lines(sys.stdin.buffer, whole)


def _lines(source: BinaryIO, whole: bool) -> Iterator[list[bytes]]:
    if whole:
        yield [source.read()]
        return
    rest = b""
    lines: list[bytes] = []
    while data := _read_some(source):
        *complete, rest = (rest + data).split(b"\n")
        if len(rest) > LINE_BYTES_MAX:
            raise Refused(f"a line is longer than {LINE_BYTES_MAX >> 20} MiB", "send it as one record with --whole")
        lines += (line.removesuffix(b"\r") for line in complete)
        if (len(data) < READ_BYTES and not _has_more(source)) or len(lines) > READ_BYTES:
            yield lines
            lines = []
    yield [*lines, rest] if rest else lines


def _read_some(source: BinaryIO) -> bytes:
    read: Any = getattr(source, "read1", source.read)
    data: bytes = read(READ_BYTES)
    return data


def _has_more(source: BinaryIO) -> bool:
    """Whether reading again would give something at once."""
    try:
        return bool(select.select([source], [], [], 0)[0])
    except (OSError, ValueError):
        return True
