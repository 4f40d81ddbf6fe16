"""A process that was killed is vouched for by the next one, as long as the machine went on and nothing was cut off."""

from __future__ import annotations

import errno

import pytest

from penstock.core.base.ports import (
    LATER,
    File,
    FileFailure,
    FileOp,
    MakeDir,
    NoNote,
    Rename,
    Steps,
    Sync,
    SyncDir,
    Together,
)
from penstock.core.base.steps import Tasks
from penstock.core.log.checkpoints import read_file
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.node.membership.broker_lifecycle import NO_EPOCH
from penstock.core.node.storage.lineage import LINEAGE_FILE, Lineage
from penstock.sim.runtime import Memory
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
        self.memory = Memory()
        drive(self.files, _made(ROOT))

    def process(
        self, incarnation: bytes, known: BrokerImage | None, boot_id: str | None = "boot", clean_epoch: int = NO_EPOCH
    ) -> Lineage:
        lineage = Lineage(ROOT, boot_id, incarnation, self.memory)
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


def refuse(files: MemoryFiles, op: FileOp) -> None:
    raise FileFailure(errno.EROFS, "read-only file system")


def test_the_doubt_does_not_rest_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an error the system may mount the disk anew for reading only. Whatever the node then wants to take back
    stays, and is there when somebody has looked after the disk."""
    folder = Folder()
    first = folder.process(FIRST, None)
    with monkeypatch.context() as patches:
        for operation in ("_unlink", "_rename", "_append", "_truncate"):
            patches.setattr(MemoryFiles, operation, refuse)
        with pytest.raises(FileFailure):
            drive(folder.files, first.doubt())
    assert folder.note is not None
    assert folder.process(SECOND, registered(FIRST, 10)).previous_epoch == NO_EPOCH
    assert folder.process(THIRD, registered(FIRST, 10)).previous_epoch == NO_EPOCH


def test_both_notes_must_know_the_process() -> None:
    folder = Folder()
    folder.process(FIRST, None)
    before = folder.memory.data
    folder.memory.remove()
    assert folder.process(SECOND, registered(FIRST, 10)).previous_epoch == NO_EPOCH
    folder.memory.data = before
    assert folder.process(THIRD, registered(SECOND, 20)).previous_epoch == NO_EPOCH
    # A copy of the folder from before the last process has a note of its own time.
    copied = folder.files.content(f"{ROOT}/{LINEAGE_FILE}")
    folder.process(FIRST, registered(SECOND, 20))
    folder.files.disk.names[f"{ROOT}/{LINEAGE_FILE}"].live[:] = copied
    assert folder.process(SECOND, registered(FIRST, 30)).previous_epoch == NO_EPOCH


def test_a_machine_without_a_place_outside_of_the_disk_vouches_for_nobody() -> None:
    folder = Folder()
    folder.process(FIRST, None)
    second = Lineage(ROOT, "boot", SECOND, NoNote())
    drive(folder.files, second.begin(registered(FIRST, 10), NO_EPOCH))
    assert second.previous_epoch == NO_EPOCH


def test_after_a_clean_stop_only_its_mark_speaks() -> None:
    folder = Folder()
    folder.process(FIRST, None).end()
    assert folder.memory.data is None
    assert folder.process(SECOND, registered(FIRST, 10), clean_epoch=10).previous_epoch == 10


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
    """A disk that fails, at once or later."""

    inline = True
    errno = errno.EIO

    def perform(self, op: FileOp, done: object) -> object:
        failure = FileFailure(self.errno, "it failed")
        result = [None, failure] if isinstance(op, Together) else failure
        if self.inline:
            return result
        self.later = done, result
        return LATER


def told_of(op: FileOp, files: FailingFiles) -> int:
    def steps() -> Steps[None]:
        yield op

    tasks, told = Tasks(files), list[int]()
    tasks.on_disk_failed = lambda: told.append(1)
    tasks.run(steps(), lambda _: None)
    if not files.inline:
        done, result = files.later
        assert not told
        done(result)
    return len(told)


SYNCS_OF_SOMETHING = [Sync(File("/f")), SyncDir("/"), Together([Sync(File("/f")), Sync(File("/g"))])]


@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize("op", SYNCS_OF_SOMETHING)
def test_every_failed_sync_is_told(op: FileOp, inline: bool) -> None:
    files = FailingFiles()
    files.inline = inline
    assert told_of(op, files) == 1


@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS, errno.ENOSPC, errno.EINVAL])
def test_a_refused_change_is_told_where_the_disk_is_at_its_end(number: int) -> None:
    files = FailingFiles()
    files.errno = number
    assert told_of(Rename(File("/f"), "/g"), files) == (number in (errno.EIO, errno.EROFS))


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
@pytest.mark.parametrize("op", SYNCS_OF_SOMETHING)
def test_what_was_never_tried_has_not_failed(op: FileOp, number: int) -> None:
    files = FailingFiles()
    files.errno = number
    assert told_of(op, files) == 0
