"""`penstock storage dump`: what is in the files of a node that is stopped, as it lies there."""

import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from penstock.cli.arguments import at_least, time_text
from penstock.cli.output import Output, json_text
from penstock.cli.plain import DATA_DIR
from penstock.cli.session import OutputOption
from penstock.cli.shown import is_for_a_terminal
from penstock.cli.storage_repair import Config, DataDir
from penstock.core.base.shown import shown

if TYPE_CHECKING:
    from penstock.cli.dumping.files import Batch
    from penstock.cli.sealed_folders import Sealings
    from penstock.core.records.record import Record

Facts = dict[str, Any]


class Show(StrEnum):
    """What `--show` takes."""

    BATCHES = "batches"
    RECORDS = "records"
    INDEXES = "indexes"


class Span:
    """The offsets that are asked for."""

    def __init__(self, first: int | None, end: int | None) -> None:
        self.first = first or 0
        self.end = sys.maxsize if end is None else end

    def touches(self, first: int, last: int) -> bool:
        return last >= self.first and first < self.end


class Asked(NamedTuple):
    """What is to be shown, and how it is opened."""

    show: Show
    span: Span
    sealings: "Sealings"


def dump(
    partitions: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC-PARTITION]...", help="All there are, and the metadata, if left out."),
    ] = None,
    show: Annotated[Show, typer.Option(help="Batches, single records, or indexes and what else is beside.")] = (
        Show.BATCHES
    ),
    from_: Annotated[
        int | None, typer.Option("--from", metavar="OFFSET", callback=at_least(0), help="The first offset.")
    ] = None,
    to: Annotated[
        int | None, typer.Option(metavar="OFFSET", callback=at_least(0), help="The first not to show.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", metavar="N", callback=at_least(0), help="Stop after so many.")
    ] = None,
    config: Config = None,
    data_dir: DataDir = DATA_DIR,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what is in the files of a node that is stopped: batches, records, indexes. Records of the metadata, of
    committed offsets, groups and transactions are decoded. The exit code is 1 if something is damaged."""
    # The other commands for folders start faster without all that reads logs.
    from penstock.cli.data_folders import data_folders, held, metadata_folders
    from penstock.cli.sealed_folders import sealings

    folders, homes = data_folders(config, data_dir), metadata_folders(config, data_dir)
    damaged = False
    with held(list(dict.fromkeys(folders + homes))):
        asked = Asked(show, Span(from_, to), sealings(config, data_dir))
        lines = _all(folders, homes, partitions or [], asked)
        for facts in islice(lines, count):
            damaged = damaged or bool(facts.get("damage"))
            print(json_text(facts) if output is Output.JSON else _line(facts))
    sys.stdout.flush()
    if damaged:
        raise typer.Exit(1)


def _all(folders: list[str], homes: list[str], names: list[str], asked: Asked) -> Iterator[Facts]:
    from penstock.cli.data_folders import metadata_in, partitions_in, refuse_unknown

    refuse_unknown(names, folders + homes)
    places = [(folder, key) for folder in folders for key in partitions_in(folder, names)]
    places += [(folder, key) for folder in homes for key in metadata_in(folder, names)]
    for folder, (topic, number) in places:
        path = f"{folder}/{topic}-{number}"
        is_index = asked.show is Show.INDEXES
        for facts in _of_indexes(path, asked.span) if is_index else _of_logs(path, topic, asked, folder):
            yield {"folder": folder, "partition": f"{topic}-{number}", **facts}


def _of_indexes(path: str, span: Span) -> Iterator[Facts]:
    from penstock.cli.dumping.entries import entries_of

    for facts in entries_of(path):
        offset = facts.get("offset", facts.get("last_offset"))
        if offset is None or span.touches(offset, offset):
            yield facts


def _of_logs(path: str, topic: str, asked: Asked, folder: str) -> Iterator[Facts]:
    from penstock.cli.dumping.files import Torn, batches_of, logs_of

    for name in logs_of(path):
        for batch in batches_of(path, name, asked.sealings[folder]):
            if isinstance(batch, Torn):
                yield batch._asdict()
            elif asked.span.touches(batch.header.base_offset, batch.header.last_offset):
                # What is in a damaged batch cannot be told.
                is_whole = asked.show is Show.BATCHES or batch.damage is not None
                yield from iter([_batch(batch)]) if is_whole else _records(batch, topic, asked.span)


def _batch(batch: "Batch") -> Facts:
    from penstock.core.records.codecs import Codec

    header = batch.header
    codecs = {int(codec): codec.name.lower() for codec in Codec}
    facts: Facts = {
        "file": batch.file,
        "position": batch.position,
        "offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.count,
        "bytes": header.size,
        "codec": codecs.get(header.codec, header.codec),
        "leader_epoch": header.leader_epoch,
        "timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "delete_horizon": header.delete_horizon,
    }
    return facts if batch.damage is None else facts | {"damage": batch.damage}


def _records(batch: "Batch", topic: str, span: Span) -> Iterator[Facts]:
    from penstock.cli.record_format import json_line
    from penstock.client.meanings import meaning_of
    from penstock.client.metadata import TopicPartition

    for record in _whole(batch):
        if isinstance(record, str):
            yield {"file": batch.file, "offset": batch.header.base_offset, "damage": record}
            return
        if not span.first <= record.offset < span.end:
            continue
        facts: Facts = {"file": batch.file, "offset": record.offset, "timestamp": record.timestamp}
        meaning = meaning_of(topic, record, is_control=batch.header.is_control)
        if meaning is None:
            whole = json.loads(json_line(TopicPartition(topic, 0), record))
            yield facts | {name: whole[name] for name in whole if name.startswith(("key", "value", "headers"))}
        else:
            yield facts | {"type": meaning.type, "key": meaning.key, "value": meaning.fields}


def _whole(batch: "Batch") -> "Iterator[Record | str]":
    """The records; in the end, if they contradict their header, what is wrong."""
    from penstock.core.records.errors import CorruptBatch
    from penstock.core.records.record import iterate

    try:
        yield from iterate(batch.data, batch.position)
    except CorruptBatch as damage:
        yield str(damage)


# Of these a person wants to know only where they are not as usual.
_USUAL: dict[str, Any] = {
    "producer_id": -1, "producer_epoch": -1, "base_sequence": -1, "transactional": False, "control": False,
    "delete_horizon": None, "headers": [], "key": {}, "open_transaction_at": -1,
}  # fmt: skip
_TIMES = ("timestamp", "max_timestamp", "delete_horizon")


def _line(facts: Facts) -> str:
    """For a person: the partition, its file, and then what differs from the usual."""
    words = [f"{facts['partition']} {facts['file']}"]
    for name, value in facts.items():
        if name in ("folder", "partition", "file") or (name in _USUAL and value == _USUAL[name]):
            continue
        words.append(f"{name}={_word(name, value)}")
    line = " ".join(words)
    return shown(line) if is_for_a_terminal() else line


def _word(name: str, value: Any) -> str:
    if name in _TIMES and isinstance(value, int):
        return time_text(value) or "-"
    return value if isinstance(value, str) else json_text(value)
