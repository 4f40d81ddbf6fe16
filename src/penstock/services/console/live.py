"""Live records over server-sent events. Each second some of the newest are read, however many there are.

So a tail costs a broker one small fetch a second. What is passed over is counted, and said.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from starlette.responses import Response, StreamingResponse

from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import NO_NODE, TopicPartition, TopicView
from penstock.client.offsets import LATEST, list_offsets
from penstock.client.reading import Reader
from penstock.services.console.cluster import pause, tell
from penstock.services.console.decoding import Decoder, Shown
from penstock.services.console.filtering import Filter, filter_of
from penstock.services.console.messages import decoder_of, partition_of
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Visit

EVERY_SECONDS: Final = 1.0
RECORDS_MAX: Final = 100
"""Of a second."""
PARTITIONS_MAX: Final = 100
PARTITION_BYTES: Final = 65_536
SECONDS_MAX: Final = 600.0
TAILS_MAX: Final = 3
"""Of one session."""

Positions = dict[TopicPartition, int]


class Step(NamedTuple):
    """What a second brought."""

    records: list[Shown]
    passed_over: int
    positions: Positions


async def tail(visit: Visit) -> Response:
    topic, number, wanted = await visit.topic(), partition_of(visit), filter_of(visit.asked("filter"))
    places = [TopicPartition(topic.name, each.number) for each in topic.partitions if each.leader != NO_NODE]
    places = [where for where in places if number in (None, where.partition)][:PARTITIONS_MAX]
    if visit.session.tails >= TAILS_MAX:
        raise Mistake(f"{TAILS_MAX} pages show live records already", "stop one of them", 429)
    events = _events(visit, topic, places, wanted)
    return StreamingResponse(events, media_type="text/event-stream")


async def _events(visit: Visit, topic: TopicView, places: list[TopicPartition], wanted: Filter) -> AsyncIterator[str]:
    """Rows of the table as HTML, made by the same template as all others."""
    positions: Positions = {}
    until = time.monotonic() + SECONDS_MAX
    visit.session.tails += 1
    try:
        while time.monotonic() < until and not visit.session.is_over:
            try:
                found = await visit.ask(
                    lambda client: step(client, topic, places, positions, wanted, decoder_of(visit, topic))  # noqa: B023 - it runs before the next round
                )
            except ClientError as failure:
                yield _event("trouble", str(failure))
            else:
                positions = found.positions
                rows = visit.templates.render("message_rows.html", topic=topic, records=found.records)
                yield _event("records", {"rows": rows, "passed_over": found.passed_over})
            await pause(EVERY_SECONDS)
        yield _event("end", f"a tail ends after {SECONDS_MAX / 60:.0f} minutes; start it again")
    finally:
        visit.session.tails -= 1


def _event(name: str, data: object) -> str:
    """One line, whatever is in it."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def step(
    client: Client,
    topic: TopicView,
    places: list[TopicPartition],
    positions: Positions,
    wanted: Filter,
    decoder: Decoder,
) -> Step:
    """The newest records since the positions; the first step only finds where the log ends."""
    tell(client, [topic])
    ends = {where: found.offset for where, found in list_offsets(client, dict.fromkeys(places, LATEST)).items()}
    starts = {where: max(positions.get(where, end), end - RECORDS_MAX) for where, end in ends.items()}
    passed_over = sum(start - positions[where] for where, start in starts.items() if where in positions)
    grown = {where: start for where, start in starts.items() if start < ends[where]}
    if not grown:
        return Step([], passed_over, ends)
    reader = Reader(client, grown, until=ends, wait_ms=0, partition_bytes=PARTITION_BYTES)
    shown = [decoder.show(chunk.where.partition, record) for chunk in reader.poll() for record in chunk.records]
    found = sorted((each for each in shown if wanted(each.fields)), key=lambda each: each.timestamp)
    passed_over += max(0, len(found) - RECORDS_MAX)
    return Step(found[-RECORDS_MAX:], passed_over, ends | reader.positions)


VIEWS: Final = {"/topics/{topic}/tail": tail}
