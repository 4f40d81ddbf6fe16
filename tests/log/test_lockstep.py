"""Steps side by side: each sees what it would see alone, and they sync together."""

from __future__ import annotations

import errno
from collections import Counter
from random import Random

import pytest

from penstock.core.base.ports import Append, File, FileFailure, MakeDir, Pause, Rename, Size, Steps, Sync, SyncDir
from penstock.core.base.steps import Tasks
from penstock.core.log.lockstep import LANES_PER_TURN_MAX, SINGLE_SYNCS_MAX, side_by_side
from tests.log.memory_files import MemoryFiles, drive

MANY = 3 * max(LANES_PER_TURN_MAX, SINGLE_SYNCS_MAX) + 1


def publish(number: int) -> Steps[int]:
    """Write, sync, rename, sync the name: the order on which every small file relies. Odd ones take a step more."""
    file = File(f"/data/{number}.tmp")
    if number % 2:
        yield Pause()
    yield Append(file, b"%d" % number)
    yield Sync(file)
    size: int = yield Size(file)
    yield Rename(file, f"/data/{number}")
    yield SyncDir("/data")
    return size


def folder(delay: Random | None = None) -> MemoryFiles:
    files = MemoryFiles(delay=delay)
    drive(files, iter_steps(MakeDir("/data"), SyncDir("/")))
    return files


def iter_steps(*ops: MakeDir | SyncDir) -> Steps[None]:
    yield from ops


@pytest.mark.parametrize("count", [0, 1, SINGLE_SYNCS_MAX, MANY])
@pytest.mark.parametrize("delay", [None, Random(1)])
def test_each_ends_as_it_would_alone(count: int, delay: Random | None) -> None:
    files = folder(delay)
    sizes = drive(files, side_by_side("/data", map(publish, range(count))))
    assert sizes == [len(str(number)) for number in range(count)]
    assert files.paths() == sorted(f"/data/{number}" for number in range(count))


def test_many_need_few_syncs() -> None:
    files = folder()
    files.history.clear()
    drive(files, side_by_side("/data", map(publish, range(MANY))))
    counts = Counter(step.split()[0] for step in files.history)
    assert counts["SyncTree"] == 2
    assert not counts["Sync"] + counts["SyncDir"]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("count", [10, MANY])
def test_power_loss_at_any_moment_never_leaves_a_name_without_its_bytes(count: int, seed: int) -> None:
    """A name is given after its file's sync; a combined sync that came too early would break that."""
    chance = Random(seed)
    files = folder(delay=Random(seed))
    results: list[object] = []
    files_left = chance.randint(1, 8 * count)
    from_tasks(files, side_by_side("/data", map(publish, range(count))), results)
    for _ in range(files_left):
        files.finish_one()
    files.disk.lose_power(chance)
    after = MemoryFiles(files.disk)
    for path in after.paths():
        if not path.endswith(".tmp"):
            assert after.content(path) == path.rpartition("/")[2].encode()
    if results:
        assert len(after.paths()) == count


def from_tasks(files: MemoryFiles, steps: Steps[list[int | FileFailure]], results: list[object]) -> None:
    Tasks(files).run(steps, results.append)


def test_the_failure_of_one_is_not_the_failure_of_others() -> None:
    files = folder()
    files.space_bytes = 2
    outcomes = drive(files, side_by_side("/data", map(publish, range(4))))
    # The even ones come first, and there is room for two.
    assert [outcomes[0], outcomes[2]] == [1, 1]
    assert [outcomes[1].errno, outcomes[3].errno] == [errno.ENOSPC] * 2


def test_a_sync_that_fails_fails_for_all_who_needed_it() -> None:
    files = folder()
    files.sync_failure = FileFailure(errno.EIO, "input/output error")
    outcomes = drive(files, side_by_side("/data", map(publish, range(MANY))))
    assert {outcome.errno for outcome in outcomes} == {errno.EIO}
    assert all(path.endswith(".tmp") for path in files.paths()), "nobody goes on after a failed sync"


@pytest.mark.parametrize("count", [2, pytest.param(2 * MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(5))
def test_two_rows_whose_members_wait_for_each_other_both_arrive(count: int, seed: int) -> None:
    """As when a node stops while it flushes: each log is flushed once at a time, and both rows flush all of them."""
    held: set[int] = set()

    def flush(number: int, late: int) -> Steps[int]:
        if number % 2 == late:
            yield Size(File("/data"))
        while number in held:
            yield Pause()
        held.add(number)
        yield from publish(number)
        held.remove(number)
        return number

    files = folder(delay=Random(seed))
    rows: list[object] = []
    from_tasks(files, side_by_side("/data", [flush(number, 0) for number in range(count)]), rows)
    from_tasks(files, side_by_side("/data", [flush(number, 1) for number in reversed(range(count))]), rows)
    for _ in range(1_000 * count):
        if not files.pending:
            break
        files.finish_one()
    assert sorted(rows) == [list(range(count)), list(reversed(range(count)))]


def test_a_mistake_is_not_hidden() -> None:
    def wrong() -> Steps[int]:
        yield Pause()
        raise KeyError("ours")

    with pytest.raises(KeyError):
        drive(folder(), side_by_side("/data", [publish(1), wrong()]))
