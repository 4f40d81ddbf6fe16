"""Who works on a log that is alone in the world: writers, a reader, a caretaker; and the four acts of a run."""

from __future__ import annotations

from contextlib import suppress

from penstock.core.base.errors import ErrorCode
from penstock.core.base.ports import FileFailure, Slice
from penstock.core.log import packer
from penstock.core.log.log import Log
from penstock.core.records.codecs import Codec
from penstock.sim.clients.records import Decoded, Sequences, decode_values, encode_values
from penstock.sim.events import Batch, FetchAnswered, FetchAsked, FetchPart, OutOfSequence, Read, Stuck
from penstock.sim.faults import Injector
from penstock.sim.log_world import PARTITION, LogSpec, LogWorld, draw_log_spec
from penstock.sim.report import Report, reported
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Actor, Script, Sleep
from penstock.sim.values import make_value

QUIET_US_MAX = 100 * SECOND
RECORDS_MAX = 8
WINDOW_MAX = 5
LAST_WINDOWS = 3
THINK_US_MAX = 400 * MS
CHORES = ("flush", "checkpoint", "checkpoint", "roll")
READ_BYTES_MAX = 20_000
SEQUENCE_ERRORS = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)


class Writer:
    """A producer and its leader in one: idempotent ones keep several batches in flight."""

    def __init__(self, world: LogWorld, name: str, idempotent: bool) -> None:
        self._world = world
        self._name = name
        self._idempotent = idempotent
        self._chance = world.chance.fork(name)
        self._next_number = 0
        self._sequences = Sequences()
        self._producer_id = self._chance.between(0, 1 << 40)

    def script(self) -> Script[None]:
        """Write until it is over, and a little more."""
        last_windows = LAST_WINDOWS
        while last_windows > 0:
            last_windows -= self._world.winding_down
            size = self._chance.between(1, WINDOW_MAX) if self._idempotent else 1
            window = [self._make_batch() for _ in range(size)]
            while window:
                window = yield from self._try(window)
                if window:
                    yield Sleep(self._chance.between(1 * MS, 200 * MS))
            yield Sleep(self._chance.skewed(0, THINK_US_MAX))

    def _try(self, window: list[Batch]) -> Script[list[Batch]]:
        answers = [self._world.append(batch, self._encode(batch)) for batch in window]
        left: list[Batch] = []
        for batch, answer in zip(window, answers, strict=True):
            result = yield answer
            if result is True:
                continue
            if result in SEQUENCE_ERRORS and not left:
                self._world.court.see(OutOfSequence(batch, result.name))
                self._producer_id, self._sequences = self._producer_id + 1, Sequences()
            left.append(batch)
        return left

    def _encode(self, batch: Batch) -> bytearray:
        identity: tuple[int, ...] = ()
        if self._idempotent:
            identity = self._producer_id, 0, self._sequences.of(batch.first, len(batch.values))
        return encode_values(batch.values, self._world.now_ms, Codec.NONE, *identity)

    def _make_batch(self) -> Batch:
        first = self._next_number
        self._next_number += self._chance.between(1, RECORDS_MAX)
        values = tuple(make_value(self._name, number, self._chance) for number in range(first, self._next_number))
        return Batch(PARTITION, self._name, first, values, self._idempotent)


class Reader:
    """Reads from anywhere, through the memory of recent batches where that serves, else through the indexes."""

    def __init__(self, world: LogWorld) -> None:
        self._world = world
        self._chance = world.chance.fork("reader")
        self._asked = 0

    def script(self) -> Script[None]:
        """Read until it is over."""
        while not self._world.winding_down:
            yield Sleep(self._chance.skewed(0, 50 * MS))
            if self._world.log is not None and self._world.visible_offset > self._world.log.start_offset:
                yield from self.read(self._chance.between(self._world.log.start_offset, self._world.visible_offset - 1))

    def read(self, position: int) -> Script[FetchPart | None]:
        """Read once; None where the disk failed or the process died."""
        world, log = self._world, self._world.log
        if log is None:
            return None
        self._asked += 1
        upto = world.visible_offset
        world.court.see(FetchAsked("reader", self._asked, {PARTITION: position}))
        found = log.read_cached(position, self._chance.between(1, READ_BYTES_MAX), upto, True)
        if not isinstance(found, Slice):
            steps = log.read(position, self._chance.between(1, READ_BYTES_MAX), upto, True)
            try:
                found = yield world.do_or_die(steps)
            except FileFailure:
                return None
        if world.log is not log:
            return None
        decoded = self._decode(found)
        part = FetchPart(PARTITION, 0, upto, decoded.values, decoded.damaged)
        world.court.see(FetchAnswered("reader", self._asked, (part,)))
        return part

    def _decode(self, found: Slice | None) -> Decoded:
        if found is None:
            return decode_values(b"")
        return decode_values(self._world.disk.volume.read(found.file, found.position, found.length))


class Caretaker:
    """Does what a node does beside appending: flushes, checkpoints, rolls, packs what is sealed."""

    def __init__(self, world: LogWorld) -> None:
        self._world = world
        self._chance = world.chance.fork("caretaker")

    def script(self) -> Script[None]:
        """Take care until it is over."""
        while not self._world.winding_down:
            yield Sleep(self._chance.skewed(1 * MS, 1 * SECOND))
            log = self._world.log
            if log is None or log.failure is not None or log.blocked is not None:
                continue
            with suppress(FileFailure):
                yield from self._take_care(log)

    def _take_care(self, log: Log) -> Script[None]:
        match self._chance.pick((*CHORES, "pack", "pack") if packer.is_wanted(log) else CHORES):
            case "flush":
                yield self._world.do_or_die(log.flush())
            case "checkpoint":
                yield self._world.do_or_die(self._world.checkpoint())
            case "roll" if log.active.size_bytes:
                log.roll(self._world.now_ms)
            case "pack":
                steps = log.pack_next(self._world.now_ms, self._world.visible_offset)
                if (yield self._world.do_or_die(steps)) is not None:
                    self._world.trace.note(self._world.scheduler.now_us, "segment-packed")


class LogScenario:
    """Plays a spec."""

    def __init__(self, world: LogWorld) -> None:
        self._world = world
        self._reader = Reader(world)

    def play(self) -> None:
        """Open, work in trouble, work in peace, read everything."""
        world = self._world
        world.boot()
        self._finish([self._act("opener", self._wait_until_open())])
        injector = Injector(world, world.chance.fork("faults"))
        injector.schedule(world.spec.faults, world.scheduler.now_us, world.spec.trouble_us)
        actors = [
            self._act(f"writer-{number}", Writer(world, f"writer-{number}", number > 0).script())
            for number in range(world.spec.writers + 1)
        ]
        actors += [self._act("reader", self._reader.script()), self._act("caretaker", Caretaker(world).script())]
        world.scheduler.run_until(world.scheduler.now_us + world.spec.trouble_us)
        injector.end()
        world.winding_down = True
        self._finish(actors)
        world.crash(1)
        self._finish([self._act("auditor", self._audit())])

    def _act(self, name: str, script: Script[None]) -> Actor:
        return Actor(name, self._world.scheduler, script)

    def _finish(self, actors: list[Actor]) -> None:
        deadline_us = self._world.scheduler.now_us + QUIET_US_MAX
        if not self._world.scheduler.run_while(lambda: not all(actor.finished for actor in actors), deadline_us):
            self._world.court.see(Stuck(next(actor.name for actor in actors if not actor.finished)))

    def _wait_until_open(self) -> Script[None]:
        while self._world.log is None:
            yield Sleep(10 * MS)

    def _audit(self) -> Script[None]:
        yield from self._wait_until_open()
        log = self._world.log
        assert log is not None
        position, records = log.start_offset, list[tuple[int, bytes]]()
        while position < self._world.visible_offset:
            part = yield from self._reader.read(position)
            assert part is not None
            records += [record for record in part.records if record[0] >= position]
            position = records[-1][0] + 1
        self._world.court.see(Read(PARTITION, log.start_offset, self._world.visible_offset, tuple(records)))


def run_log_seed(seed: int, spec: LogSpec | None = None) -> Report:
    """Run one seed to its end or to its first violation."""
    world = LogWorld(seed, draw_log_spec(seed) if spec is None else spec)
    return reported(seed, world.scheduler, world.trace, LogScenario(world).play)
