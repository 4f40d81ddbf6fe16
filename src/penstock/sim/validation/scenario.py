"""A run: topics and a schema, then everybody at work in a storm, then calm, then everything is read and judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from penstock.sim.chance import Chance
from penstock.sim.clients.admin import Admin, TopicPlan
from penstock.sim.clients.client import Client
from penstock.sim.cluster import ClusterNodes
from penstock.sim.disk import DiskProfile
from penstock.sim.events import Partition
from penstock.sim.invariants.base import Violation
from penstock.sim.network import NetworkProfile
from penstock.sim.report import Report, reported
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.script import Actor, Script
from penstock.sim.storm import Fault, draw_storm
from penstock.sim.validation.ledger import Ledger, Letter
from penstock.sim.validation.work import (
    LETTERS,
    SCHEMAS,
    STEADY,
    TOPIC,
    Writer,
    flicker,
    letters_in,
    read_all,
    register,
)
from penstock.sim.weather import Weather
from penstock.sim.world import World

PATIENCE_US_MAX: Final = 300 * SECOND
STORM_US: Final = 12 * SECOND
LETTER_PARTITIONS: Final = 2
HARMLESS: Final = frozenset({"crash", "restart", "pause", "isolate", "cut", "slow", "reset", "half-open", "slow-disk"})
"""Faults after which what was acknowledged must still be there, and the disks as they were."""


@dataclass(frozen=True, slots=True)
class ValidationSpec:
    """All that decides a run, besides its seed."""

    settings: Mapping[str, str]
    storm: tuple[Fault, ...]
    writers: int
    partitions: int
    disk: DiskProfile
    machines: int = 3


def draw_validation(seed: int, diverts: bool | None = None) -> ValidationSpec:
    chance = Chance(seed).fork("validation")
    is_diverting = chance.happens(0.5) if diverts is None else diverts
    machines = 3
    faults = draw_storm(chance.fork("storm"), machines, STORM_US, 1)
    if chance.happens(0.6):
        faults = (*faults, *_hiccups(chance.fork("hiccups"), machines))
    return ValidationSpec(
        settings={
            "penstock.value.schema.validation": chance.pick(["id", "payload"]),
            "penstock.schema.validation.on.failure": "dlq" if is_diverting else "reject",
            "penstock.batch.inline.bytes.max": chance.pick(["0", "16384"]),
        },
        storm=tuple(fault for fault in faults if fault.kind in HARMLESS),
        writers=chance.between(1, 3),
        partitions=chance.between(1, 2),
        disk=DiskProfile(job_us_max=chance.pick([20 * MS, 300 * MS]), worker_deaths=chance.pick([0.0, 0.1])),
    )


def _hiccups(chance: Chance, machines: int) -> list[Fault]:
    """One machine stops, and another one dies meanwhile: what the first was to write for the second is lost, if nobody
    waits for it. And answers get lost on their way, so that batches come again."""
    faults = []
    for at_ms in range(500, STORM_US // MS, 2_000):
        first = chance.between(1, machines)
        second = chance.pick([number for number in range(1, machines + 1) if number != first])
        faults.append(Fault(at_us=at_ms * MS, kind="pause", one=first, for_us=1_200 * MS))
        died_ms = at_ms + chance.between(50, 1_000)
        faults.append(Fault(at_us=died_ms * MS, kind="crash", one=second, for_us=200 * MS))
        for _ in range(6):
            reset_ms = at_ms + chance.between(0, 2_000)
            bytes_left = chance.between(1, 400)
            one = chance.between(1, machines)
            faults.append(Fault(at_us=reset_ms * MS, kind="reset", one=one, other=0, by=bytes_left))
    return faults


def run_validation(seed: int, spec: ValidationSpec | None = None) -> Report:
    spec = spec or draw_validation(seed)
    own = {"penstock.batch.inline.bytes.max"}
    nodes = ClusterNodes(spec.machines, {name: spec.settings[name] for name in own if name in spec.settings})
    world = World(seed, nodes, Ledger, spec.disk, NetworkProfile(), machines=spec.machines)
    configs = {name: value for name, value in spec.settings.items() if name not in own}
    scenario = ValidationScenario(world, spec, configs)
    return reported(seed, world.scheduler, world.trace, scenario.play)


class ValidationScenario:
    """Plays a spec in a world."""

    def __init__(self, world: World[Ledger], spec: ValidationSpec, configs: dict[str, str]) -> None:
        self._world = world
        self._spec = spec
        self._configs = configs
        world.witness.diverts = configs["penstock.schema.validation.on.failure"] == "dlq"

    def play(self) -> None:
        world, scheduler = self._world, self._world.scheduler
        world.boot()
        self._finish([world.act("preparer", self._prepare)])
        weather = Weather(world, world.chance.fork("weather"))
        weather.schedule(self._spec.storm)
        world.act("registrar", lambda client: flicker(client, self._is_over))
        for number in range(self._spec.writers):
            world.act(f"writer-{number}", self._write)
        scheduler.run_until(scheduler.now_us + STORM_US)
        weather.end()
        world.winding_down = True
        self._finish(world.actors)
        self._finish([world.act("auditor", self._audit)])

    def _finish(self, actors: list[Actor]) -> None:
        scheduler = self._world.scheduler
        for actor in actors:
            until_us = scheduler.now_us + PATIENCE_US_MAX
            while not actor.finished and scheduler.now_us < until_us:
                scheduler.run_until(scheduler.now_us + SECOND)
            if not actor.finished:
                raise Violation(f"{actor.name} makes no progress")

    def _is_over(self) -> bool:
        return self._world.winding_down

    def _prepare(self, client: Client) -> Script[None]:
        admin, safe = Admin(client), {"min.insync.replicas": "2"}
        plans = [
            TopicPlan(SCHEMAS, 1, {**safe, "cleanup.policy": "compact"}, 3),
            TopicPlan(TOPIC, self._spec.partitions, {**safe, **self._configs}, 3),
            TopicPlan(LETTERS, LETTER_PARTITIONS, safe, 3),
        ]
        for plan in plans:
            yield from admin.create(plan)
        yield from register(client, STEADY)
        client.disconnect()

    def _write(self, client: Client) -> Script[None]:
        return Writer(client, self._world.witness, self._spec.partitions, self._is_over).script()

    def _audit(self, client: Client) -> Script[None]:
        stored: dict[int, dict[int, bytes]] = {}
        for number in range(self._spec.partitions):
            records = yield from read_all(client, Partition(TOPIC, number))
            stored[number] = {record.offset: record.value or b"" for record in records}
        letters: list[Letter] = []
        for number in range(LETTER_PARTITIONS):
            letters += letters_in((yield from read_all(client, Partition(LETTERS, number))))
        for letter in letters:
            self._world.witness.note("dead-letters", f"{letter.partition} {letter.offset}")
        self._world.witness.judge(stored, letters)
