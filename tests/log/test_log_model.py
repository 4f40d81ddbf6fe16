"""A log against a list: whatever happens to the process or the machine, it holds a run of what was appended."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.core.base.errors import ApiError
from penstock.core.log.directory import LogDirectory
from penstock.core.log.log import Log
from penstock.core.records.batch import read_header
from tests.log.helpers import NOW_MS, Settings, append, batch_of, load, records_of
from tests.log.memory_files import Disk, MemoryFiles, drive

KEY = ("orders", 0)
SETTINGS = Settings(segment_bytes=700, index_interval_bytes=120, retention_ms=1000, file_delete_delay_ms=100)


class LogModel(RuleBasedStateMachine):
    """The model is a list of values by offset; `synced` of them must survive everything."""

    directory: LogDirectory
    log: Log

    @initialize(slow=st.booleans(), seed=st.integers(0, 1 << 16))
    def begin(self, slow: bool, seed: int) -> None:
        self.chance = Random(seed)
        self.slow = slow
        self.disk = Disk()
        self.values: list[bytes] = []
        self.times: list[int] = []
        self.bases: list[int] = []
        self.sequences: dict[int, int] = {}
        self.now_ms = NOW_MS
        self.synced = self.start = self.start_promised = 0
        self._start()

    def _start(self) -> None:
        self.files = MemoryFiles(self.disk)
        self.directory = load(self.files, SETTINGS, self.now_ms)
        log = self.directory.logs.get(KEY)
        if log is None:
            log = drive(self.files, self.directory.create("orders", bytes(16), 0, SETTINGS, self.now_ms))
        self.log = log
        if self.slow:
            self.files.delay = self.chance

    def _settle(self) -> None:
        self.files.finish_all()

    @rule(size=st.integers(0, 250), count=st.integers(1, 3), step=st.integers(0, 400))
    def append(self, size: int, count: int, step: int) -> None:
        self.now_ms += step
        values = [b"%d:" % (len(self.values) + n) + b"." * size for n in range(count)]
        base = append(self.log, batch_of(*values, timestamp=self.now_ms), now_ms=self.now_ms)
        assert base == len(self.values)
        self.bases.append(base)
        self.values += values
        self.times += [self.now_ms] * count

    @rule(producer=st.integers(1, 3))
    def append_idempotent(self, producer: int) -> None:
        sequence = self.sequences.get(producer, 0)
        value = b"p%d/%d" % (producer, sequence)
        batch = batch_of(value, timestamp=self.now_ms, producer_id=producer, producer_epoch=0, base_sequence=sequence)
        assert self.log.producers.check(read_header(batch)) is None
        append(self.log, batch, now_ms=self.now_ms)
        duplicate = self.log.producers.check(read_header(batch))
        assert duplicate is not None
        assert duplicate.base_offset == len(self.values)
        self.bases.append(len(self.values))
        self.values.append(value)
        self.times.append(self.now_ms)
        self.sequences[producer] = sequence + 1

    @rule(steps=st.integers(1, 5))
    def disk_works(self, steps: int) -> None:
        for _ in range(steps):
            self.files.finish_one()

    @rule()
    def flush(self) -> None:
        drive(self.files, self.log.flush())
        self.synced = self.log.synced_offset

    @rule()
    def roll(self) -> None:
        if self.log.active.size_bytes:
            self.log.roll(self.now_ms)

    @rule()
    def checkpoint(self) -> None:
        start = self.log.start_offset
        drive(self.files, self.directory.checkpoint())
        self.start_promised = start

    @rule(age=st.integers(0, 2000))
    def retain(self, age: int) -> None:
        self._settle()
        self.now_ms += age
        drive(self.files, self.log.retain(self.now_ms))
        self.start = max(self.start, self.log.start_offset)
        kept = self.times[self.log.start_offset :]
        assert not kept or max(kept) >= self.now_ms - 1000

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        offset = int(self.log.written_offset * part)
        drive(self.files, self.log.delete_records(offset))
        self.start = max(self.start, offset)

    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        """A follower gives up its diverged tail, from some batch on."""
        self._settle()
        bases = [base for base in self.bases if base >= self.log.start_offset]
        if bases:
            offset = bases[int((len(bases) - 1) * part)]
            drive(self.files, self.log.truncate_to(offset))
            assert self.log.end_offset == offset
            self._forget_above(offset)

    @rule(space_bytes=st.integers(0, 600), count=st.integers(1, 5))
    def disk_is_full(self, space_bytes: int, count: int) -> None:
        """Only what was written stays, and everybody knows."""
        self._settle()
        self.files.space_bytes = space_bytes
        for _ in range(count):
            if self.log.blocked is None:
                self.append(100, 1, 0)
        self._settle()
        self.files.space_bytes = None
        assert self.log.blocked is None
        assert self.log.end_offset == self.log.written_offset
        self._forget_above(self.log.end_offset)

    @rule()
    def purge(self) -> None:
        drive(self.files, self.log.purge(self.now_ms))

    @rule()
    def crash(self) -> None:
        """Everything Written is there again."""
        written = self.log.written_offset
        self._restart(written)

    @rule()
    def power_loss(self) -> None:
        self.disk.lose_power(self.chance)
        self._restart(self.synced)

    @rule()
    def clean_restart(self) -> None:
        drive(self.files, self.directory.close())
        self.synced = self.log.end_offset
        start = self.log.start_offset
        if self.chance.random() < 0.5:
            self.disk.lose_power(self.chance)
        self._restart(self.synced)
        assert self.directory.was_clean
        assert self.log.start_offset == start

    def _restart(self, at_least: int) -> None:
        before = len(self.values)
        self._start()
        end = self.log.end_offset
        assert at_least <= end <= before
        assert self.start_promised <= self.log.start_offset <= max(self.start, self.log.start_offset)
        self.start = self.log.start_offset
        self._forget_above(end)
        self._check_read(self.log.start_offset, 1 << 20)

    def _forget_above(self, end: int) -> None:
        del self.values[end:], self.times[end:]
        self.bases = [base for base in self.bases if base < end]
        self.synced = min(self.synced, end)
        self._resume_producers()

    def _resume_producers(self) -> None:
        """Each producer goes on after its last record that survived; one whose records are all gone may be unknown."""
        expected: dict[int, int] = {}
        for offset, value in enumerate(self.values):
            if value.startswith(b"p"):
                producer, sequence = map(int, value[1:].split(b"/"))
                expected[producer] = sequence + 1
                if offset >= self.log.start_offset:
                    assert self.log.producers.get(producer) is not None
        known = self.log.producers.items()
        self.sequences = {producer: state.last_sequence + 1 for producer, state in known if state.marks}
        assert self.sequences.items() <= expected.items()

    @precondition(lambda self: hasattr(self, "log"))
    @invariant()
    def offsets_are_in_order(self) -> None:
        log = self.log
        assert 0 <= log.start_offset <= log.written_offset <= log.end_offset == len(self.values)
        assert log.synced_offset <= log.written_offset
        assert log.failure is None

    @rule(part=st.floats(0, 1), max_bytes=st.sampled_from([1, 150, 500, 1 << 20]))
    def read(self, part: float, max_bytes: int) -> None:
        log = self.log
        offset = log.start_offset + int((log.written_offset - log.start_offset) * part)
        self._check_read(offset, max_bytes)
        if log.start_offset:
            with pytest.raises(ApiError):
                log.read_cached(log.start_offset - 1, 1, log.end_offset, True)

    def _check_read(self, offset: int, max_bytes: int) -> None:
        log = self.log
        delay, self.files.delay = self.files.delay, None
        try:
            found = records_of(self.files, log, offset, max_bytes)
        finally:
            self.files.delay = delay
        assert [(record.offset, record.value) for record in found] == list(
            enumerate(self.values[offset : log.written_offset], offset)
        )

    @rule(part=st.floats(0, 1))
    def find_time(self, part: float) -> None:
        log = self.log
        self._settle()
        if not self.values[log.start_offset :]:
            return
        times = self.times[log.start_offset :]
        target = times[int((len(times) - 1) * part)]
        offset = next(number for number, time in enumerate(times, log.start_offset) if time >= target)
        assert drive(self.files, log.offset_for_time(target))[:2] == (self.times[offset], offset)


TestLogModel = LogModel.TestCase
TestLogModel.settings = hypothesis_settings(stateful_step_count=40)
