"""Dead letters: how many and why, one beside the record that it was, and back into their topics, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from penstock.client.blocking import Client
from penstock.client.dead_letters import Choice, Found, Redrive, letters, read_redriven, spans, where_of
from penstock.client.errors import ClientError
from penstock.client.metadata import TopicPartition
from penstock.client.producing import Headers
from penstock.core.delivery.dead_letter import SUFFIX, own_headers
from penstock.core.delivery.redriven import Redriven
from penstock.services.console.decoding import Decoder, Mask, Shown
from penstock.services.console.jobs import Job
from penstock.services.console.messages import read_one
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Page, Visit
from penstock.services.console.paging import page_of

READ_SECONDS: Final = 4.0
LETTERS_SHOWN: Final = 50
JOB_SECONDS_MAX: Final = 3600.0
NO_REASON: Final = "-"


class Kind(NamedTuple):
    """Letters of one reason and origin, and how many of them are back."""

    reason: str
    origin: str
    letters: int
    back: int


class Counted(NamedTuple):
    kinds: list[Kind]
    letters: list[Found]
    back: set[tuple[int, int]]
    is_whole: bool
    """Whether all could be read in time."""


async def topics(visit: Visit) -> Response:
    names = sorted(name for name in (await visit.picture()).topics if name.endswith(SUFFIX))
    wanted = visit.asked("q").lower()
    page = page_of([name for name in names if wanted in name.lower()], visit.number("page", 1))
    return visit.show("dead_letter_topics.html", page=page, query={"q": visit.asked("q")})


def choice_of(reason: str, origin: str) -> Choice:
    return Choice(reason=reason or None, origin=origin or None)


async def letters_of(visit: Visit) -> Response:
    topic, choice = await visit.topic(), choice_of(visit.asked("reason"), visit.asked("origin"))
    found = await visit.ask(lambda client: count(client, topic.name, choice))
    query = {name: visit.asked(name) for name in ("reason", "origin") if visit.asked(name)}
    return visit.show("dead_letters.html", topic=topic, found=found, query=query)


def count(client: Client, topic: str, choice: Choice) -> Counted:
    """Kinds are those of all letters, also of what was not chosen."""
    redriven, sums, backs = read_redriven(client), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    shown: list[Found] = []
    back: set[tuple[int, int]] = set()
    is_whole = True
    try:
        with client.within(READ_SECONDS):
            for found in letters(client, Choice(), spans(client, topic)):
                kind = kind_of(found)
                sums[kind] += 1
                is_back = redriven.has(where_of(client, found.where), found.record.offset)
                backs[kind] += is_back
                if choice.takes(found):
                    shown = [*shown[-LETTERS_SHOWN + 1 :], found]
                if is_back:
                    back.add((found.where.partition, found.record.offset))
    except ClientError as failure:
        if not failure.is_absence or not sums:
            raise
        is_whole = False
    kinds = [Kind(*kind, total, backs[kind]) for kind, total in sorted(sums.items())]
    return Counted(kinds, shown[::-1], back, is_whole)


def kind_of(found: Found) -> tuple[str, str]:
    return (NO_REASON, NO_REASON) if found.letter is None else (found.letter.reason, found.letter.topic)


class Letter(NamedTuple):
    """One in full."""

    found: Found
    shown: Shown
    own: list[tuple[str, str]]
    origin: Shown | None
    is_back: bool


async def letter(visit: Visit) -> Response:
    topic, number, offset = await visit.topic(), visit.number("partition", 0), visit.number("offset", 0)
    masks: tuple[Mask, ...] = () if visit.may_change else visit.facts.get("masks", ())

    def look(client: Client) -> Letter:
        where = TopicPartition(topic.name, number)
        read_one(client, topic, number, offset)
        found = next(letters(client, Choice(), {where: (offset, offset + 1)}), None)
        if found is None:
            raise Mistake(f"there is no letter at offset {offset} of {where}", None, 404)
        is_back = read_redriven(client).has(where_of(client, where), offset)
        # A letter is masked as the record is that it was.
        own_topic = topic.name if found.letter is None else found.letter.topic
        decoder = Decoder(own_topic, masks=masks)
        shown = decoder.show(number, found.record)
        own = _texts(own_headers(found.record.headers))
        return Letter(found, shown, own, _at_origin(client, found, decoder), is_back)

    return visit.show("dead_letter.html", topic=topic, letter=await visit.ask(look))


def _texts(headers: Headers) -> list[tuple[str, str]]:
    return [(name, "" if value is None else value.decode("utf-8", "replace")) for name, value in headers]


def _at_origin(client: Client, found: Found, decoder: Decoder) -> Shown | None:
    """What is there now, if it still is; a topic may be another one by now, and an offset cut."""
    letter = found.letter
    if letter is None or letter.partition is None or letter.offset is None:
        return None
    try:
        topic = client.topic(letter.topic)
        return decoder.show(letter.partition, read_one(client, topic, letter.partition, letter.offset))
    except (ClientError, Mistake):
        return None


async def redriving(visit: Visit) -> Response:
    """How many would go where; nothing is brought back."""
    topic, into = await visit.topic(), visit.asked("into")
    choice = choice_of(visit.asked("reason"), visit.asked("origin"))
    known = set((await visit.picture()).topics)
    _check_into(into, topic.name, known)

    def look(client: Client) -> Counter[tuple[str, str]]:
        redriven = read_redriven(client)
        return Counter(
            (into or kind_of(found)[1], kind_of(found)[0]) for found in chosen(client, topic.name, choice, redriven)
        )

    counts = await visit.ask(look)
    lost = sorted({target for target, _ in counts if target not in known})
    values: dict[str, Any] = {"topic": topic, "counts": sorted(counts.items()), "lost": lost, "into": into}
    return visit.show("redrive.html", reason=visit.asked("reason"), origin=visit.asked("origin"), **values)


def _check_into(into: str, topic: str, known: set[str]) -> None:
    if into and (into not in known or into == topic):
        raise Mistake(f"letters cannot go into {into[:60]!r}", "name another topic, one that exists")


def chosen(client: Client, topic: str, choice: Choice, redriven: Redriven) -> Iterator[Found]:
    """Those that are meant, and not back already."""
    for found in letters(client, choice, spans(client, topic)):
        if not redriven.has(where_of(client, found.where), found.record.offset):
            yield found


async def redrive(visit: Visit) -> Response:
    topic, into = await visit.topic(), visit.given("into")
    visit.require_typed(topic.name)
    known = set((await visit.picture()).topics)
    _check_into(into, topic.name, known)
    choice, cluster = choice_of(visit.given("reason"), visit.given("origin")), visit.cluster

    def work(job: Job) -> None:
        def perform(client: Client) -> None:
            run = Redrive(client, topic.name, into=into or None)
            redriven = run.begin()
            found = (
                each for each in chosen(client, topic.name, choice, redriven) if (into or kind_of(each)[1]) in known
            )
            run.bring_back(found, job.advance)

        cluster.perform(perform, JOB_SECONDS_MAX)

    job = visit.jobs.start(f"Letters of {topic.name} go back", visit.session.user, work)
    return visit.go(f"/dead-letters/jobs/{job.id}")


async def progress(visit: Visit) -> Response:
    job = visit.jobs.find(visit.request.path_params["id"], visit.session.user)
    return visit.either("job", job=job)


async def stop(visit: Visit) -> Response:
    job = visit.jobs.find(visit.request.path_params["id"], visit.session.user)
    job.stop()
    return visit.go(f"/dead-letters/jobs/{job.id}", "it ends with the transaction that is under way")


PAGE: Final = Page(
    "dead-letters",
    "Dead letters",
    "/dead-letters",
    "d",
    {
        "/dead-letters": topics,
        "/dead-letters/jobs/{id}": progress,
        "/dead-letters/of/{topic}": letters_of,
        "/dead-letters/of/{topic}/letter": letter,
        "/dead-letters/of/{topic}/redrive": redriving,
    },
    {"/dead-letters/of/{topic}/redrive": redrive, "/dead-letters/jobs/{id}/stop": stop},
)
