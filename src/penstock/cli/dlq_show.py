"""`penstock dlq show`: one dead letter in full, and whether its record is still where it came from."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.cli.arguments import time_text
from penstock.cli.dlq_choice import LetterTopic, position
from penstock.cli.output import Output, print_facts, print_json
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import Refused
from penstock.client.blocking import Client
from penstock.client.dead_letters import Choice, Found, letters, read_redriven, spans, where_of
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.offsets import edges
from penstock.client.reading import Reader
from penstock.core.base.errors import ErrorCode
from penstock.core.delivery.dead_letter import Letter, own_headers
from penstock.core.records.record import Record

SAME, OTHER, GONE = "the same record", "another record", "no longer there"


def show(
    topic: LetterTopic,
    place: Annotated[str, typer.Argument(metavar="PARTITION:OFFSET", help="Where the letter is: 0:15.")],
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Show one dead letter in full, and whether its record is still where it came from."""
    at = position(place, "PARTITION:OFFSET")
    with connect(bootstrap, timeout) as client:
        found = _found(client, topic, *at)
        is_back = read_redriven(client).has(where_of(client, found.where), found.record.offset)
        facts = _facts(client, found) | {"redriven": "yes" if is_back else "no"}
    content = _content(found.record)
    if output is Output.JSON:
        print_json(facts | content)
        return
    print_facts(output, facts | {f"header {name}": value for name, value in content["headers"]})
    print_facts(output, {"key": content["key"], "value": content["value"]})


def _found(client: Client, topic: str, partition: int, offset: int) -> Found:
    where = TopicPartition(topic, partition)
    known = spans(client, topic)
    if where not in known:
        raise Refused(f"topic {topic} has no partition {partition}", client.topic(topic).numbers)
    first, end = known[where]
    if first <= offset < end:
        for found in letters(client, Choice(), {where: (offset, offset + 1)}):
            return found
    raise Refused(f"there is no letter at offset {offset} of {where}", f"its offsets go from {first} to {end - 1}")


def _facts(client: Client, found: Found) -> dict[str, Any]:
    facts: dict[str, Any] = {"letter": f"{found.where}@{found.record.offset}"}
    facts["written"] = time_text(found.record.timestamp)
    letter = found.letter
    if letter is None:
        return facts | {"reason": None}
    whence = f"{letter.topic}-{letter.partition}@{letter.offset}"
    return facts | {
        "reason": letter.reason,
        "message": letter.message,
        "attempts": letter.attempts,
        "reader": letter.reader,
        "origin": whence,
        "origin_time": None if letter.timestamp_ms is None else time_text(letter.timestamp_ms),
        "at_its_origin": _at_origin(client, letter, found.record),
    }


def _at_origin(client: Client, letter: Letter, record: Record) -> str:
    """What is there now: a log is cut and compacted, and a topic deleted and made again."""
    if letter.partition is None or letter.offset is None:
        return GONE
    where = TopicPartition(letter.topic, letter.partition)
    try:
        first, end = edges(client, [where])[where]
    except (ClientError, IndexError) as failure:
        if isinstance(failure, ClientError) and failure.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return GONE
    if not first <= letter.offset < end:
        return GONE
    reader = Reader(client, {where: letter.offset}, until={where: letter.offset + 1})
    there = [each for chunk in reader for each in chunk.records if each.offset == letter.offset]
    if not there:
        return GONE
    return SAME if (there[0].key, there[0].value) == (record.key, record.value) else OTHER


def _content(record: Record) -> dict[str, Any]:
    return {
        "headers": [[name, _text(value)] for name, value in own_headers(record.headers)],
        "key": _text(record.key),
        "value": _text(record.value),
    }


def _text(content: bytes | None) -> str | None:
    """Text as text, and what is none in hex."""
    if content is None:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"0x{content.hex()}"
