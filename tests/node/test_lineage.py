"""A process that was killed is vouched for by the next one, as long as the machine went on and nothing was cut off."""

from __future__ import annotations

import errno

import pytest

from penstock.core.base.ports import LATER, File, FileFailure, FileOp, MakeDir, Steps, Sync, SyncDir, Together
from penstock.core.base.steps import Tasks
from penstock.core.log.checkpoints import read_file
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.node.lineage import LINEAGE_FILE, Lineage
from penstock.core.node.registrar import NO_EPOCH
from tests.log.memory_files import Crashed, MemoryFiles, drive

ROOT = "/data"
FIRST, SECOND, THIRD = (bytes([number]) * 16 for number in (1, 2, 3))


def registered(incarnation: bytes, epoch: int) -> BrokerImage:
    return BrokerImage(1, epoch, incarnation, ())


def _made(path: str) -> Steps[None]:
    yield MakeDir(path)


class Folder:
    """A data folder in which one process follows the other."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        drive(self.files, _made(ROOT))

    def process(
        self, incarnation: bytes, known: BrokerImage | None, boot_id: str | None = "boot", clean_epoch: int = NO_EPOCH
    ) -> Lineage:
        lineage = Lineage(ROOT, boot_id, incarnation)
        drive(self.files, lineage.begin(known, clean_epoch))
        return lineage

    @property
    def note(self) -> bytes | None:
        found: bytes | None = drive(self.files, read_file(f"{ROOT}/{LINEAGE_FILE}"))
        return found


def test_a_killed_process_is_vouched_for() -> None:
    folder = Folder()
    assert folder.process(FIRST, None).previous_epoch == NO_EPOCH
    assert folder.process(SECOND, registered(FIRST, 10)).previous_epoch == 10
    assert folder.process(THIRD, registered(SECOND, 20)).previous_epoch == 20


def test_nobody_vouches_for_what_a_power_loss_may_have_taken() -> None:
    folder = Folder()
    folder.process(FIRST, None, "boot 1")
    assert folder.process(SECOND, registered(FIRST, 10), "boot 2").previous_epoch == NO_EPOCH
    assert folder.process(THIRD, registered(FIRST, 10), "boot 2").previous_epoch == NO_EPOCH
    assert folder.process(THIRD, registered(FIRST, 10), "boot 1").previous_epoch == NO_EPOCH


def test_nobody_vouches_where_the_boot_is_unknown() -> None:
    folder = Folder()
    folder.process(FIRST, None, None)
    assert folder.process(SECOND, registered(FIRST, 10), None).previous_epoch == NO_EPOCH
    folder.process(FIRST, None, "boot")
    assert folder.process(SECOND, registered(FIRST, 10), None).previous_epoch == NO_EPOCH
    assert folder.note is None
    assert folder.process(THIRD, registered(FIRST, 10), "boot").previous_epoch == NO_EPOCH


def test_a_process_that_dies_before_it_is_registered_breaks_no_line() -> None:
    folder = Folder()
    folder.process(FIRST, None)
    folder.process(SECOND, registered(FIRST, 10))
    assert folder.process(THIRD, registered(FIRST, 10)).previous_epoch == 10


def test_a_registration_counts_though_its_process_never_heard_of_it() -> None:
    folder = Folder()
    folder.process(FIRST, None)
    folder.process(SECOND, registered(FIRST, 10))
    assert folder.process(THIRD, registered(SECOND, 20)).previous_epoch == 20


def test_a_registration_of_another_folder_is_not_vouched_for() -> None:
    folder = Folder()
    folder.process(FIRST, None)
    assert folder.process(SECOND, registered(THIRD, 30)).previous_epoch == NO_EPOCH


def test_a_clean_stop_is_vouched_for_whatever_the_boot() -> None:
    folder = Folder()
    folder.process(FIRST, None, "boot 1")
    assert folder.process(SECOND, registered(FIRST, 10), "boot 2", clean_epoch=10).previous_epoch == 10
    # Its mark is gone now, and the second process died before it was registered.
    assert folder.process(THIRD, registered(FIRST, 10), "boot 2").previous_epoch == 10


def test_the_mark_of_an_older_clean_stop_vouches_for_nobody() -> None:
    folder = Folder()
    assert folder.process(SECOND, registered(FIRST, 10), clean_epoch=5).previous_epoch == NO_EPOCH


def test_what_recovery_cut_off_is_never_vouched_for() -> None:
    folder = Folder()
    folder.process(FIRST, None)
    second = folder.process(SECOND, registered(FIRST, 10))
    drive(folder.files, second.cut())
    assert second.previous_epoch == NO_EPOCH
    assert folder.process(THIRD, registered(FIRST, 10)).previous_epoch == NO_EPOCH
    # Once it is registered without them, its logs are what they are.
    assert folder.process(FIRST, registered(THIRD, 30)).previous_epoch == 30


def test_after_a_failed_sync_the_next_process_is_not_believed() -> None:
    folder = Folder()
    first = folder.process(FIRST, None)
    drive(folder.files, first.doubt())
    assert folder.process(SECOND, registered(FIRST, 10)).previous_epoch == NO_EPOCH


def test_a_note_that_is_not_whole_says_nothing() -> None:
    folder = Folder()
    folder.process(FIRST, None)
    live = folder.files.disk.names[f"{ROOT}/{LINEAGE_FILE}"].live
    for size in range(len(live)):
        other = Folder()
        other.process(FIRST, None)
        del other.files.disk.names[f"{ROOT}/{LINEAGE_FILE}"].live[size:]
        assert other.process(SECOND, registered(FIRST, 10)).previous_epoch == NO_EPOCH


def test_who_dies_while_it_writes_its_note_leaves_the_old_or_the_new_one() -> None:
    for count in range(20):
        folder = Folder()
        folder.process(FIRST, None)
        folder.files.operations_left = count
        try:
            folder.process(SECOND, registered(FIRST, 10))
        except Crashed:
            folder.files = MemoryFiles(folder.files.disk)
            assert folder.process(THIRD, registered(FIRST, 10)).previous_epoch == 10
        else:
            return
    pytest.fail("it never ended")


def test_a_full_disk_keeps_no_process_from_starting() -> None:
    folder = Folder()
    folder.process(FIRST, None)
    folder.files.space_bytes = 5
    assert folder.process(SECOND, registered(FIRST, 10)).previous_epoch == 10
    folder.files.space_bytes = None
    assert folder.process(THIRD, registered(FIRST, 10)).previous_epoch == 10
    assert folder.process(SECOND, registered(SECOND, 20)).previous_epoch == NO_EPOCH


class FailingFiles(MemoryFiles):
    """A disk that fails to sync, at once or later."""

    inline = True

    def perform(self, op: FileOp, done: object) -> object:
        failure = FileFailure(errno.EIO, "input/output error")
        result = [None, failure] if isinstance(op, Together) else failure
        if self.inline:
            return result
        self.later = done, result
        return LATER


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("op", [Sync(File("/f")), SyncDir("/"), Together([Sync(File("/f")), Sync(File("/g"))])])
def test_every_failed_sync_is_told(op: FileOp, inline: bool) -> None:
    def steps() -> Steps[None]:
        yield op

    files = FailingFiles()
    files.inline = inline
    tasks, told = Tasks(files), list[int]()
    tasks.on_sync_failed = lambda: told.append(1)
    tasks.run(steps(), lambda _: None)
    if not inline:
        done, result = files.later
        assert not told
        done(result)
    assert told == [1]
