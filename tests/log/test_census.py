"""Who is forgotten when idempotent producers are too many."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from penstock.core.log import producers as module
from penstock.core.log.census import SLACK, ProducerCensus
from penstock.core.log.producers import Producers
from penstock.core.records.batch import TRANSACTIONAL_BIT, BatchHeader
from tests.log.helpers import append, batch_of, new_log, reopen
from tests.log.memory_files import MemoryFiles, drive


def header(producer_id: int, attributes: int = 0) -> BatchHeader:
    return BatchHeader(0, 100, 0, 2, 0, attributes, 0, 1, 1, producer_id, 0, 0, 1)


def some_log(producer_ids: range) -> Any:
    log = SimpleNamespace(producers=Producers())
    for producer_id in producer_ids:
        log.producers.append(header(producer_id), producer_id)
    return log


def known(log: Any) -> list[int]:
    return sorted(producer_id for producer_id, _ in log.producers.items())


def test_the_longest_idle_go_and_those_with_an_open_transaction_stay() -> None:
    log = some_log(range(0))
    census = ProducerCensus(per_partition_max=16, logs=lambda: [log])
    log.producers.append(header(1000, TRANSACTIONAL_BIT), 0)
    for producer_id in range(100):
        log.producers.append(header(producer_id), producer_id + 1)
        log.producers.append(header(7)._replace(base_sequence=producer_id + 1), producer_id + 1)
        census.grew(log)
        assert len(log.producers) <= 16
    assert {7, 99, 1000} <= set(known(log))
    assert known(log)[1:-1] == list(range(102 - len(log.producers), 100))


def test_the_most_crowded_partition_gives_first() -> None:
    crowded, quiet = some_log(range(150)), some_log(range(5))
    census = ProducerCensus(total_max=100, logs=lambda: [quiet, crowded])
    for _ in range(100 // SLACK + 1):
        census.grew(quiet)
    assert known(quiet) == list(range(5))
    assert len(crowded.producers) + 5 <= 100
    assert known(crowded)[-1] == 149


def test_a_fold_keeps_no_more_than_a_start_has_room_for(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "REPLAYED_MAX", 10)
    assert len(some_log(range(1000)).producers) <= 10


def test_a_start_and_a_cut_bring_back_no_more_than_may_be(monkeypatch: Any) -> None:
    """What is read again holds everybody who was forgotten since."""
    monkeypatch.setattr(ProducerCensus.__init__, "__defaults__", (8, 1_000, tuple))
    files = MemoryFiles()
    log = new_log(files)
    for producer_id in range(50):
        append(log, batch_of(b"v", producer_id=producer_id, producer_epoch=0, base_sequence=0))
    drive(files, log.truncate_to(40))
    assert len(log.producers) <= 8
    again = reopen(files).producers
    assert len(again) <= 8
    assert again.get(39) is not None
