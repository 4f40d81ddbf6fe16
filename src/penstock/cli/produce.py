"""`penstock produce`: lines of stdin or of files become records."""

import json
import select
import sys
from base64 import b64decode
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

import typer

from penstock.cli import completion
from penstock.cli.arguments import TIMESTAMP_MS_END, assignments
from penstock.cli.output import Output, print_json
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.metadata import TopicPartition
from penstock.client.producing import ACKS_ALL, Delivered, Producer
from penstock.core.records.codecs import Codec

READ_BYTES = 1 << 20
LINE_BYTES_MAX = 64 << 20


class Acks(StrEnum):
    """What `--acks` takes."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


class Input(StrEnum):
    """What `--input` takes: a line as it is, or a line as `penstock consume --output json` prints it."""

    TEXT = "text"
    JSON = "json"


class CodecName(StrEnum):
    """What `--codec` takes."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class NewRecord(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int | None = None


def produce(
    topic: Annotated[str, typer.Argument(help="The topic.", autocompletion=completion.topics)],
    files: Annotated[list[Path] | None, typer.Argument(help="Files to read instead of stdin.")] = None,
    key: Annotated[str | None, typer.Option(help="One key for all records.")] = None,
    key_separator: Annotated[str | None, typer.Option(help="What stands between key and value in a line.")] = None,
    header: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A header of every record.")] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="The partition; chosen by key if left out.")] = None,
    codec: Annotated[CodecName, typer.Option(help="How batches are compressed.")] = CodecName.NONE,
    acks: Annotated[Acks, typer.Option(help="Whose word to wait for.")] = Acks.ALL,
    whole: Annotated[bool, typer.Option("--whole", help="Each file (or all of stdin) is one record.")] = False,
    input_: Annotated[Input, typer.Option("--input", help="What a line holds.")] = Input.TEXT,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Write lines of stdin or of files to a topic, one record each."""
    headers = tuple((name, value.encode()) for name, value in assignments(header or (), "--header").items())
    separator = None if key_separator is None else _unescape(key_separator)
    if separator == b"":
        raise typer.BadParameter("nothing cannot separate a key from a value", param_hint="--key-separator")
    fixed_key = None if key is None else key.encode()

    def read(line: bytes) -> NewRecord:
        return _from_json(line) if input_ is Input.JSON else _from_text(line, fixed_key, separator, headers)

    delivered: list[Delivered] = []
    with connect(bootstrap, timeout) as client:
        # Nobody should type records that nobody will take.
        client.retry(lambda: client.refresh(()))
        producer = Producer(
            client,
            acks=ACKS_ALL if acks is Acks.ALL else int(acks),
            codec=Codec[codec.name],
            on_delivery=delivered.append,
        )
        for chunk in _chunks(files or [], whole):
            try:
                for line in chunk:
                    record = read(line)
                    at = {"partition": partition, "timestamp": record.timestamp}
                    producer.send(topic, record.key, record.value, record.headers, **at)
            finally:
                # What has been read is sent before more is waited for: somebody may be typing, or piping a live log.
                # So is what stands before a line that cannot be sent.
                producer.flush()
    _report(output, topic, delivered)


def _chunks(files: list[Path], whole: bool) -> Iterator[list[bytes]]:
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


def _from_text(
    line: bytes, key: bytes | None, separator: bytes | None, headers: tuple[tuple[str, bytes | None], ...]
) -> NewRecord:
    if separator is None:
        return NewRecord(key, line, headers)
    own_key, found, value = line.partition(separator)
    if not found:
        raise Refused(
            f"there is no key separator {separator.decode()!r} in the line {line[:60].decode(errors='replace')!r}",
            "leave --key-separator out for lines without a key; the lines before it have been sent",
        )
    return NewRecord(own_key, value, headers)


def _from_json(line: bytes) -> NewRecord:
    try:
        fields = json.loads(line)
        headers = tuple((_json_name(one), _json_bytes(one, "value")) for one in fields.get("headers") or ())
        return NewRecord(_json_bytes(fields, "key"), _json_bytes(fields, "value"), headers, _json_timestamp(fields))
    except (ValueError, KeyError, TypeError, AttributeError) as failure:
        raise Refused(
            f"the line {line[:60].decode(errors='replace')!r} is not a record: {failure}",
            'a record is a JSON object like {"key": "k", "value": "v", "headers": [{"key": "h", "value": "x"}]}; '
            "the lines before it have been sent",
        ) from None


def _json_name(header: dict[str, Any]) -> str:
    name = header["key"]
    if not isinstance(name, str):
        raise ValueError(f"the name of a header is a text, not {json.dumps(name)}")
    name.encode()
    return name


def _json_timestamp(fields: dict[str, Any]) -> int | None:
    timestamp = fields.get("timestamp")
    if timestamp is None:
        return None
    if (
        not isinstance(timestamp, int)
        or isinstance(timestamp, bool)
        or not -TIMESTAMP_MS_END <= timestamp < TIMESTAMP_MS_END
    ):
        raise ValueError("its timestamp is not a number of milliseconds")
    return timestamp


def _json_bytes(fields: dict[str, Any], name: str) -> bytes | None:
    """A text field as bytes; its twin with `_base64` holds what is not text, and other JSON is kept as JSON."""
    if fields.get(f"{name}_base64") is not None:
        return b64decode(fields[f"{name}_base64"], validate=True)
    value = fields.get(name)
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def _unescape(text: str) -> bytes:
    return text.replace("\\t", "\t").replace("\\0", "\0").encode()


def _report(output: Output, topic: str, delivered: list[Delivered]) -> None:
    """How many records went where."""
    places: dict[TopicPartition, tuple[int, int, int]] = {}
    for batch in delivered:
        first, _, count = places.get(batch.where, (batch.offset, 0, 0))
        last = batch.offset + batch.records - 1 if batch.offset >= 0 else -1
        places[batch.where] = (first, last, count + batch.records)
    total = sum(count for _, _, count in places.values())
    if output is Output.JSON:
        rows = [
            {"partition": where.partition, "first_offset": first, "last_offset": last, "records": count}
            for where, (first, last, count) in sorted(places.items())
        ]
        print_json({"topic": topic, "records": total, "partitions": rows})
        return
    spans = ", ".join(
        f"partition {where.partition}: offsets {first} to {last}" if first >= 0 else f"partition {where.partition}"
        for where, (first, last, _) in sorted(places.items())
    )
    say(f"{total} record{'' if total == 1 else 's'} written to {topic}" + (f" ({spans})" if spans else ""))
