"""What the requests of transactions are answered in each situation and version: a table, held to by Kafka and by us.

`PENSTOCK_REWRITE=1` writes down what Kafka says; the difference is then for a person to review. Where we say something
else, a fifth column has it, and `docs/compatibility.md` the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from penstock.core.apis.table import load_apis
from tests.conformance.beside_kafka.side import Side, Sides
from tests.conformance.beside_kafka.transacting import REQUESTS, Actor, situated
from tests.waiting import wait_until

pytestmark = [pytest.mark.java, pytest.mark.slow]

FOLDER = Path(__file__).parent
NEWEST_LEVEL = 2
TABLES = {NEWEST_LEVEL: FOLDER / "transaction_errors.txt", 1: FOLDER / "transaction_errors_at_1.txt"}
"""By the level of `transaction.version`."""
UPGRADE, SAFE_DOWNGRADE = 1, 2


class Row(NamedTuple):
    situation: str
    request: str
    versions: range
    kafka: str
    ours: str

    def __str__(self) -> str:
        versions = f"{self.versions[0]}-{self.versions[-1]}"
        columns = f"{self.situation:18} | {self.request:36} | {versions:5} | {self.kafka}"
        return columns if self.ours == self.kafka else f"{columns} | {self.ours}"


def rows(text: str) -> Iterator[Row]:
    for line in text.splitlines():
        if line and not line.startswith("#"):
            situation, request, versions, kafka, *ours = (each.strip() for each in line.split("|"))
            first, last = map(int, versions.split("-"))
            yield Row(situation, request, range(first, last + 1), kafka, ours[0] if ours else kafka)


class Cast:
    """Actors in situations that nothing has changed since."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._actors: dict[str, Actor] = {}

    def answer(self, row: Row, version: int) -> str:
        actor = self._actors.pop(row.situation, None) or situated(self._side, row.situation)
        said = actor.ask(row.request, version)
        if "NONE" not in said and not row.request.startswith("InitProducerId"):
            self._actors[row.situation] = actor
        return said


@pytest.fixture(params=TABLES)
def level(transacting: Sides, request: pytest.FixtureRequest) -> Iterator[int]:
    wanted: int = request.param
    if wanted != NEWEST_LEVEL:
        agree(transacting, wanted, SAFE_DOWNGRADE)
    yield wanted
    if wanted != NEWEST_LEVEL:
        agree(transacting, NEWEST_LEVEL, UPGRADE)


def agree(sides: Sides, level: int, direction: int) -> None:
    update = {"feature": "transaction.version", "max_version_level": level, "upgrade_type": direction}
    for side in (sides.kafka, sides.ours):
        answer = side.ask_raw("UpdateFeatures", 2, feature_updates=[update], timeout_ms=10_000).message
        assert answer.error_code == 0, answer
        wait_until(partial(_is_agreed, side, level), what=f"{side} at level {level}")


def _is_agreed(side: Side, level: int) -> bool:
    found = side.ask_raw("ApiVersions", 3, client_software_name="x", client_software_version="1").message
    return any(
        each.name == "transaction.version" and each.max_version_level == level for each in found.finalized_features
    )


def test_both_answer_as_the_table_says(transacting: Sides, level: int) -> None:
    casts = Cast(transacting.kafka), Cast(transacting.ours)
    text = TABLES[level].read_text()
    if os.environ.get("PENSTOCK_REWRITE") == "1":
        TABLES[level].write_text(_rewritten(text, *casts))
        return
    wrong = [
        f"{row.situation} | {row.request} | v{version}: {name} is to say {expected}, and says {said}"
        for row in rows(text)
        for version in row.versions
        for name, cast, expected in (("Kafka", casts[0], row.kafka), ("Penstock", casts[1], row.ours))
        if (said := cast.answer(row, version)) != expected
    ]
    assert not wrong, "\n".join(wrong)


def _rewritten(text: str, kafka: Cast, ours: Cast) -> str:
    return "".join(
        line + "\n" if not line or line.startswith("#") else _asked(next(rows(line)), kafka, ours)
        for line in text.splitlines()
    )


def _asked(row: Row, kafka: Cast, ours: Cast) -> str:
    said = [(version, kafka.answer(row, version), ours.answer(row, version)) for version in row.versions]
    lines: Iterable[tuple[tuple[str, str], list[int]]] = (
        (codes, [each[0] for each in group]) for codes, group in groupby(said, key=lambda each: each[1:])
    )
    return "".join(
        f"{row._replace(versions=range(versions[0], versions[-1] + 1), kafka=codes[0], ours=codes[1])}\n"
        for codes, versions in lines
    )


def test_the_table_has_the_oldest_and_the_newest_version_of_each_request() -> None:
    asked: dict[str, set[int]] = {}
    for row in rows(TABLES[NEWEST_LEVEL].read_text()):
        asked.setdefault(row.request.split()[0], set()).update(row.versions)
    served = {api.name: api.versions for api in load_apis(with_unstable=True).values()}
    assert set(asked) == set(REQUESTS)
    for name, versions in asked.items():
        assert {served[name][0], served[name][-1]} <= versions <= set(served[name]), name
