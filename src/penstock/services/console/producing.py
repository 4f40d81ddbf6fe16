"""Writing a record by hand, and one that exists once more."""

from __future__ import annotations

import json
from typing import Final

from starlette.responses import Response

from penstock.client.blocking import Client
from penstock.client.producing import Delivered, Headers, Producer
from penstock.services.console.messages import read_one
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Visit, whole
from penstock.services.console.registry import schemas_at

FORMATS: Final = ("text", "json", "schema", "hex", "null")


async def producing(visit: Visit) -> Response:
    return visit.show("produce.html", topic=await visit.topic(), formats=FORMATS)


async def produce(visit: Visit) -> Response:
    topic = await visit.topic()
    number = whole(visit.given("partition"), "partition") if visit.given("partition").strip() else None
    if number is not None and number >= len(topic.partitions):
        raise Mistake(f"{topic.name} has no partition {number}", topic.numbers)
    headers = headers_in(visit.given("headers"))

    def send(client: Client) -> Delivered:
        key = _bytes(visit, "key", f"{topic.name}-key")
        value = _bytes(visit, "value", f"{topic.name}-value")
        return write(client, topic.name, key, value, headers, number)

    return _to_record(visit, await visit.ask(send), "the record was written")


async def again(visit: Visit) -> Response:
    """The same bytes, into this topic or another one."""
    topic, target = await visit.topic(), visit.given("to").strip()
    number, offset = visit.given_number("partition"), visit.given_number("offset")
    if not target or target not in (await visit.picture()).topics:
        raise Mistake(f"there is no topic {target[:60]!r}", "name one that exists")

    def send(client: Client) -> Delivered:
        found = read_one(client, topic, number, offset)
        return write(client, target, found.key, found.value, found.headers, None)

    return _to_record(visit, await visit.ask(send), f"the record was written to {target}")


def write(
    client: Client, topic: str, key: bytes | None, value: bytes | None, headers: Headers, number: int | None
) -> Delivered:
    delivered: list[Delivered] = []
    with Producer(client, on_delivery=delivered.append) as producer:
        producer.send(topic, key, value, headers, partition=number)
    (one,) = delivered
    return one


def _to_record(visit: Visit, done: Delivered, said: str) -> Response:
    where = done.where
    return visit.go(
        f"/topics/{where.topic}/record",
        f"{said}: {where}, offset {done.offset}",
        partition=str(where.partition),
        offset=str(done.offset),
    )


def _bytes(visit: Visit, part: str, subject: str) -> bytes | None:
    text, format = visit.given(part), visit.given(f"{part}_format", "text")
    match format:
        case "null":
            return None
        case "text":
            return text.encode()
        case "hex":
            try:
                return bytes.fromhex(text)
            except ValueError:
                raise Mistake(f"the {part} is not written in hex", "two digits from 0 to f for each byte") from None
    try:
        data = json.loads(text)
    except ValueError as failure:
        raise Mistake(f"the {part} is no JSON: {failure}") from None
    if format == "json":
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    schemas = schemas_at(visit.session.registry)
    if schemas is None:
        raise Mistake("no schema registry was named", "start the console with --registry URL")
    return schemas.serializer(subject)(data)


def headers_in(text: str) -> list[tuple[str, bytes | None]]:
    """Lines of name: value."""
    found: list[tuple[str, bytes | None]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, value = line.partition(":")
        if not colon:
            raise Mistake(f"{line[:60]!r} is no header", "headers are lines of name: value")
        found.append((name.strip(), value.strip().encode()))
    return found


VIEWS: Final = {"/topics/{topic}/produce": producing}
ACTIONS: Final = {"/topics/{topic}/produce": produce, "/topics/{topic}/again": again}
