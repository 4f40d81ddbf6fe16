"""What of a partition's batches goes to a backup, whatever retention does meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.cli.backups import chunks
from penstock.cli.backups.chunks import Cut, PartitionReader
from penstock.cli.backups.manifest import Chunk, PartitionBackup, stored
from penstock.cli.backups.store import FolderStore
from penstock.cli.talk import Refused
from penstock.client.metadata import TopicPartition
from penstock.client.ranges import Fetched, RangeLost
from penstock.core.base.errors import ErrorCode
from penstock.core.records.batch import iterate_headers
from tests.backups.test_logs import batch

WHERE = TopicPartition("t", 0)
TOPIC_ID = bytes(15) + b"7"
Step = bytes | RangeLost


class AnyClient:
    timeout = 1.0


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> FolderStore:
    return FolderStore(str(tmp_path_factory.mktemp("backups")))


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """A leader that answers with these batches, or losses, in turn; gives where it was asked to begin."""

    def answers(*steps: Step) -> list[int]:
        left, asked = list(steps), []

        def read(client: object, where: object, start: int, end: int, **options: Any) -> Iterator[Fetched]:
            assert options["topic_id"] == TOPIC_ID, "a topic that was made anew is never read"
            asked.append(start)
            while left and start < end:
                step = left.pop(0)
                if isinstance(step, RangeLost):
                    raise step
                found = list(iterate_headers(step))
                yield Fetched(start, step, found, ())
                start = found[-1][1].next_offset

        monkeypatch.setattr(chunks, "RangeReader", read)
        return asked

    return answers


def backed_up(store: FolderStore, start: int, end: int, known: PartitionBackup | None = None) -> PartitionBackup:
    cut = Cut(WHERE, TOPIC_ID, start, end, False)
    return PartitionReader(AnyClient(), store, cut, known).read()  # type: ignore[arg-type]  # Nothing else is asked of it.


def lost(resume: int, code: ErrorCode = ErrorCode.OFFSET_OUT_OF_RANGE) -> RangeLost:
    return RangeLost(WHERE, 0, resume, "it is gone", code, resume=resume)


def held(store: FolderStore, made: PartitionBackup) -> list[tuple[int, int, bytes | None]]:
    return [(chunk.first, chunk.end, store.get(chunk.file.path)) for chunk in made.chunks]


def test_batches_are_kept_up_to_the_cut(store: FolderStore, leader: Callable[..., list[int]]) -> None:
    leader(batch(0, 3) + batch(3, 2, epoch=4), batch(5, 2, epoch=4))
    made = backed_up(store, 1, 5)
    assert (made.start, made.end, made.epoch) == (1, 5, 4)
    assert held(store, made) == [(0, 5, batch(0, 3) + batch(3, 2, epoch=4))]


def test_a_batch_over_the_cut_lowers_it(store: FolderStore, leader: Callable[..., list[int]]) -> None:
    leader(batch(0, 3) + batch(3, 4))
    made = backed_up(store, 0, 5)
    assert (made.end, held(store, made)) == (3, [(0, 3, batch(0, 3))])


def test_a_chunk_begins_where_the_one_before_ends(
    store: FolderStore, leader: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", len(batch(0, 3)))
    leader(batch(0, 3), batch(40, 3), batch(50, 3))
    made = backed_up(store, 0, 60)
    assert [each[:2] for each in held(store, made)] == [(0, 3), (3, 43), (43, 53)]
    assert made.end == 60


def test_retention_takes_what_was_read_with_it(store: FolderStore, leader: Callable[..., list[int]]) -> None:
    asked = leader(batch(0, 3), lost(8), batch(8, 2))
    made = backed_up(store, 0, 10)
    assert asked == [0, 8]
    assert (made.start, made.end, held(store, made)) == (8, 10, [(8, 10, batch(8, 2))])


@pytest.mark.parametrize(
    "loss", [lost(8, ErrorCode.INCONSISTENT_TOPIC_ID), lost(10), lost(2)], ids=["another topic", "all of it", "before"]
)
def test_any_other_loss_is_one(store: FolderStore, leader: Callable[..., list[int]], loss: RangeLost) -> None:
    leader(batch(0, 3), loss)
    with pytest.raises(RangeLost):
        backed_up(store, 0, 10)


def test_a_batch_that_has_rotted_is_not_kept_as_good(store: FolderStore, leader: Callable[..., list[int]]) -> None:
    leader(batch(0, 3) + batch(3, 2)[:-1] + b"x")
    with pytest.raises(Refused, match="t-0 is damaged at offset 3"):
        backed_up(store, 0, 5)


def test_it_goes_on_behind_an_earlier_backup(store: FolderStore, leader: Callable[..., list[int]]) -> None:
    old = [Chunk(0, 3, stored("a", b"a")), Chunk(3, 6, stored("b", b"b"))]
    known = PartitionBackup("t", "id", 0, 0, 6, 2, False, tuple(old))
    asked = leader(batch(6, 2, epoch=5))
    made = backed_up(store, 4, 8, known)
    assert asked == [6]
    assert made.chunks[:1] == (old[1],), "what was deleted meanwhile is left out"
    assert [(each.first, each.end) for each in made.chunks] == [(3, 6), (6, 8)]
    assert (made.start, made.epoch) == (4, 5)
