"""Records of a topic: found from anywhere in it, looked at one by one, and taken home in bounds."""

from __future__ import annotations

import json
from typing import Any, Final

from starlette.responses import Response

from penstock.client.blocking import Client
from penstock.client.metadata import TopicPartition, TopicView
from penstock.client.offsets import edges
from penstock.client.reading import Reader
from penstock.core.records.record import Record
from penstock.services.console.decoding import DECODERS, Decoder, Mask, Shown
from penstock.services.console.filtering import filter_of
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Visit, whole
from penstock.services.console.registry import schemas_at
from penstock.services.console.scanning import BEGINNINGS, Found, Wish, scan

COUNTS: Final = (20, 50, 100, 500)
EXPORTED_MAX: Final = 10_000
EXPORT_SECONDS_MAX: Final = 30.0
FIELDS: Final = ("partition", "from", "at", "filter", "as", "count")


def decoder_of(visit: Visit, topic: TopicView) -> Decoder:
    """Made in the thread that reads, because what is known of a registry is a thread's."""
    how = visit.asked("as", "auto")
    masks: tuple[Mask, ...] = () if visit.may_change else visit.facts.get("masks", ())
    return Decoder(topic.name, how if how in DECODERS else "auto", schemas_at(visit.session.registry), masks)


def partition_of(visit: Visit) -> int | None:
    text = visit.asked("partition")
    return whole(text, "partition") if text else None


def _wish(visit: Visit, count: int) -> Wish:
    begin = visit.asked("from", "latest")
    if begin not in BEGINNINGS:
        raise Mistake(f"from {begin[:40]!r}: nothing begins there", f"there are {', '.join(BEGINNINGS)}")
    return Wish(partition_of(visit), begin, visit.asked("at"), count, bool(visit.asked("filter")))


async def _find(visit: Visit, topic: TopicView, count: int, seconds: float | None = None) -> Found:
    wanted, wish = filter_of(visit.asked("filter")), _wish(visit, count)
    return await visit.ask(lambda client: scan(client, topic, wish, wanted, decoder_of(visit, topic)), seconds)


async def messages(visit: Visit) -> Response:
    topic = await visit.topic()
    count = min(visit.number("count", COUNTS[0], 1), COUNTS[-1])
    found = await _find(visit, topic, count)
    query = {name: visit.asked(name) for name in FIELDS if visit.asked(name)}
    following = query | {"from": "positions", "at": found.next}
    values: dict[str, Any] = {"topic": topic, "found": found, "query": query, "following": following}
    return visit.either("messages", counts=COUNTS, count=count, decoders=DECODERS, **values)


async def export(visit: Visit) -> Response:
    """What was found, and more of it, as a line of JSON each."""
    topic = await visit.topic()
    found = await _find(visit, topic, EXPORTED_MAX, EXPORT_SECONDS_MAX)
    visit.note("export", {"topic": topic.name, "filter": visit.asked("filter")}, f"{len(found.records)} records")
    lines = "".join(json.dumps(_line(each), ensure_ascii=False, default=str) + "\n" for each in found.records)
    headers = {"content-disposition": f'attachment; filename="{topic.name}.jsonl"'}
    return Response(lines, media_type="application/x-ndjson", headers=headers)


def _line(shown: Shown) -> dict[str, Any]:
    return shown.fields | {"key": _plain(shown.key.data, shown.key.text), "headers": shown.headers}


def _plain(data: Any, text: str) -> Any:
    return text if data is None and text != "null" else data


def read_one(client: Client, topic: TopicView, number: int, offset: int) -> Record:
    """The record at an offset; some offsets hold none."""
    where = TopicPartition(topic.name, number)
    if number >= len(topic.partitions):
        raise Mistake(f"{topic.name} has no partition {number}", topic.numbers, 404)
    first, end = edges(client, [where])[where]
    if not first <= offset < end:
        raise Mistake(f"{where} has no offset {offset}", f"its offsets go from {first} to {end - 1}", 404)
    for chunk in Reader(client, {where: offset}, until={where: offset + 1}):
        for record in chunk.records:
            return record
    raise Mistake(
        f"there is no record at offset {offset} of {where}",
        "compaction has removed it, or it is a transaction's mark",
        404,
    )


async def record(visit: Visit) -> Response:
    topic = await visit.topic()
    number, offset = visit.number("partition", 0), visit.number("offset", 0)

    def look(client: Client) -> tuple[Shown, bool]:
        decoder = decoder_of(visit, topic)
        return decoder.show(number, read_one(client, topic, number, offset)), decoder.masks

    shown, is_masked = await visit.ask(look)
    values: dict[str, Any] = {"topic": topic, "record": shown, "is_masked": is_masked, "decoders": DECODERS}
    return visit.show("record.html", how=visit.asked("as", "auto"), pretty=_pretty(shown), **values)


def _pretty(shown: Shown) -> str:
    data = shown.value.data
    if shown.value.kind in ("json", "schema", "internal"):
        return json.dumps(data, indent=2, ensure_ascii=False, default=str)[:SHOWN_MAX]
    return shown.value.text[:SHOWN_MAX]


SHOWN_MAX: Final = 100_000


async def raw(visit: Visit) -> Response:
    """The bytes of a key or a value, to be kept in a file."""
    topic = await visit.topic()
    number, offset = visit.number("partition", 0), visit.number("offset", 0)
    part = "key" if visit.asked("part") == "key" else "value"
    if decoder_of(visit, topic).masks:
        raise Mistake("parts of this topic are masked for you", None, 403)
    found = await visit.ask(lambda client: read_one(client, topic, number, offset))
    visit.note("raw", {"topic": topic.name, "partition": str(number), "offset": str(offset)}, "done")
    data = (found.key if part == "key" else found.value) or b""
    headers = {"content-disposition": f'attachment; filename="{topic.name}-{number}-{offset}.{part}"'}
    return Response(data, media_type="application/octet-stream", headers=headers)


VIEWS: Final = {
    "/topics/{topic}/messages": messages,
    "/topics/{topic}/export": export,
    "/topics/{topic}/record": record,
    "/topics/{topic}/raw": raw,
}
