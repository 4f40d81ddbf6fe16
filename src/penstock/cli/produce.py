"""`penstock produce`: lines of stdin or of files become records."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from penstock.cli import completion
from penstock.cli.arguments import pairs
from penstock.cli.client_settings import PRODUCER, ConfigOption, PropertyOption, client_settings
from penstock.cli.json_record import NewRecord, read_json_record
from penstock.cli.output import Output
from penstock.cli.produce_input import chunks
from penstock.cli.produce_report import Report
from penstock.cli.produce_transactions import (
    TransactionalId,
    TransactionRecords,
    check_transactional,
    send_in_transactions,
)
from penstock.cli.schema_registry import DEFAULT_REGISTRY, Registry
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused
from penstock.cli.typed import WriteSchema, typed_reader
from penstock.client.blocking import Client
from penstock.client.producing import ACKS_ALL, BATCH_BYTES, Delivered, Producer
from penstock.client.transactional import TIMEOUT_MS, TransactionalProducer
from penstock.core.records.codecs import Codec

Topic = Annotated[str | None, typer.Argument(metavar="TOPIC", help="The topic.", autocompletion=completion.topics)]
TopicOption = Annotated[str | None, typer.Option("--topic", "-t", metavar="TOPIC", help="The topic, as an option.")]
HeaderOption = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="A header of every record; may be repeated.")
]
PartitionOption = Annotated[
    int | None, typer.Option("--partition", "-p", metavar="N", help="The partition; chosen by key if left out.")
]
Headers = tuple[tuple[str, bytes | None], ...]


class Acks(StrEnum):
    """What `--acks` takes."""

    NONE = "0"
    LEADER = "1"
    ALL = "all"


class Input(StrEnum):
    """What `--input` takes: a line as it is, as `penstock consume --output json` prints it, or in a code."""

    TEXT = "text"
    JSON = "json"
    HEX = "hex"
    BASE64 = "base64"


class CodecName(StrEnum):
    """What `--codec` takes."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class LineReader(NamedTuple):
    """How a line that is not JSON becomes a record."""

    key: bytes | None
    separator: bytes | None
    headers: Headers
    decode: Callable[[bytes], bytes]
    null: bytes | None

    def read(self, line: bytes) -> NewRecord:
        if self.separator is None:
            return NewRecord(self.key, self._part(line), self.headers)
        own_key, found, value = line.partition(self.separator)
        if not found:
            raise Refused(
                f"there is no key separator {self.separator.decode()!r} in the line {_beginning(line)}",
                "leave --key-separator out for lines without a key",
            )
        return NewRecord(self._part(own_key), self._part(value), self.headers)

    def _part(self, part: bytes) -> bytes | None:
        if part == self.null:
            return None
        try:
            return self.decode(part)
        except ValueError:
            raise Refused(
                f"{_beginning(part)} is not written as --input says", "see `penstock produce --help`"
            ) from None


_DECODERS: Mapping[Input, Callable[[bytes], bytes]] = {
    Input.TEXT: bytes,
    Input.HEX: lambda line: bytes.fromhex(line.decode("ascii")),
    Input.BASE64: lambda line: b64decode(line, validate=True),
}


def produce(
    context: typer.Context,
    topic: Topic = None,
    files: Annotated[list[Path] | None, typer.Argument(help="Files to read instead of stdin.")] = None,
    topic_option: TopicOption = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="One key for all records.")] = None,
    key_separator: Annotated[str | None, typer.Option(help="What stands between key and value in a line.")] = None,
    header: HeaderOption = None,
    partition: PartitionOption = None,
    codec: Annotated[CodecName | None, typer.Option(help="How batches are compressed.", show_default="none")] = None,
    acks: Annotated[Acks | None, typer.Option(help="Whose word to wait for.", show_default="all")] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Each file (or all of stdin) is one record.")] = False,
    input_: Annotated[Input, typer.Option("--input", help="What a line holds.")] = Input.TEXT,
    null: Annotated[str | None, typer.Option(metavar="TEXT", help="A key or value that reads so is null.")] = None,
    schema: WriteSchema = None,
    registry: Registry = DEFAULT_REGISTRY,
    transactional_id: TransactionalId = None,
    transaction_records: TransactionRecords = None,
    config: ConfigOption = None,
    property_: PropertyOption = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Write lines of stdin or of files to a topic, one record each."""
    name, paths = _topic(topic, topic_option, files or [])
    if partition is not None and partition < 0:
        raise typer.BadParameter(f"{partition} is not a partition: they count from 0", param_hint="--partition")
    read = typed_reader(_reader(input_, key, key_separator, header, null), schema, name, registry)
    settings = client_settings(config, property_, PRODUCER)
    if codec is not None:
        settings["compression.type"] = codec.value
    if acks is not None:
        settings["acks"] = acks.value
    if transactional_id is not None:
        settings["transactional.id"] = transactional_id
    check_transactional(settings, transaction_records)
    report = Report(name, output, settings.get("transactional.id"))
    with connect(bootstrap, timeout, context, settings) as client:
        # Nobody should type records that nobody will take.
        client.retry(lambda: client.refresh(()))
        producer = make_producer(client, settings, report.take)
        found = (map(read, chunk) for chunk in chunks(paths, whole))
        with report.of_what_fails():
            if isinstance(producer, TransactionalProducer):
                send = partial(_send_one, producer, name, partition, report)
                send_in_transactions(producer, send, chain.from_iterable(found), transaction_records, report)
            for records in found:
                _send(producer, name, partition, records, report)
    report.finish()


def make_producer(
    client: Client, settings: Mapping[str, str], on_delivery: Callable[[Delivered], None] | None = None
) -> Producer:
    """A producer as the settings say."""
    acks = settings.get("acks", "all")
    patience_ms = settings.get("delivery.timeout.ms")
    common: dict[str, Any] = {
        "codec": Codec[settings.get("compression.type", "none").upper()],
        "batch_bytes": int(settings.get("batch.size", BATCH_BYTES)),
        "delivery_seconds_max": None if patience_ms is None else int(patience_ms) / 1000,
        "on_delivery": on_delivery,
    }
    if (transactional_id := settings.get("transactional.id")) is not None:
        timeout_ms = int(settings.get("transaction.timeout.ms", TIMEOUT_MS))
        return TransactionalProducer(client, transactional_id, timeout_ms=timeout_ms, **common)
    idempotent = settings.get("enable.idempotence", "true") == "true"
    return Producer(client, acks=ACKS_ALL if acks == "all" else int(acks), idempotent=idempotent, **common)


def _topic(topic: str | None, option: str | None, files: list[Path]) -> tuple[str, list[Path]]:
    """The topic is the first argument, unless an option names it: then all arguments are files."""
    if option is not None:
        return option, files if topic is None else [Path(topic), *files]
    if topic is None:
        raise typer.BadParameter("name the topic: penstock produce TOPIC")
    return topic, files


def _reader(
    input_: Input, key: str | None, key_separator: str | None, header: list[str] | None, null: str | None
) -> Callable[[bytes], NewRecord]:
    headers = tuple((name, value.encode()) for name, value in pairs(header or (), "--header"))
    separator = None if key_separator is None else _unescape(key_separator)
    if separator == b"":
        raise typer.BadParameter("nothing cannot separate a key from a value", param_hint="--key-separator")
    if input_ is Input.JSON:
        beside = {"--key": key, "--key-separator": key_separator, "--header": header, "--null": null}
        if said := [option for option, value in beside.items() if value]:
            raise typer.BadParameter("a line of JSON says this itself", param_hint=said[0])
        return read_json_record
    fixed_key, null_text = (None if text is None else text.encode() for text in (key, null))
    return LineReader(fixed_key, separator, headers, _DECODERS[input_], null_text).read


def _send(producer: Producer, topic: str, partition: int | None, records: Iterable[NewRecord], report: Report) -> None:
    try:
        for record in records:
            _send_one(producer, topic, partition, report, record)
    finally:
        # What has been read is sent before more is waited for: somebody may be typing, or piping a live log.
        # So is what stands before a line that cannot be sent.
        producer.flush()


def _send_one(producer: Producer, topic: str, partition: int | None, report: Report, record: NewRecord) -> None:
    report.given += 1
    at = {"partition": partition, "timestamp": record.timestamp}
    producer.send(topic, record.key, record.value, record.headers, **at)


def _unescape(text: str) -> bytes:
    return text.replace("\\t", "\t").replace("\\0", "\0").encode()


def _beginning(line: bytes) -> str:
    return repr(line[:60].decode(errors="replace"))
