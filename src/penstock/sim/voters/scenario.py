"""A seed of a quorum: it starts, decides through a storm, and must make progress when the storm is over.

The decider keeps submitting to whoever takes itself for the leader, as a controller does. Besides the storm, voters
lose their power right after they have voted: that is when a vote that was not kept would be given again.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from penstock.core.base.errors import ErrorCode
from penstock.core.log.names import METADATA_DIR
from penstock.core.metadata.image import GROUP_RESOURCE
from penstock.core.node.node import Node
from penstock.core.node.quorum import setting_aside
from penstock.core.wire.stored.cluster_metadata import ConfigRecord
from penstock.sim.chance import Chance
from penstock.sim.disk import DiskProfile
from penstock.sim.invariants.base import Violation
from penstock.sim.network import NetworkProfile
from penstock.sim.platter import DirectoryNode
from penstock.sim.ports import SimNode
from penstock.sim.report import Report, reported
from penstock.sim.scheduler import MS, SECOND
from penstock.sim.site import Site
from penstock.sim.storm import Fault, draw_storm, write_storm
from penstock.sim.voters.court import Court
from penstock.sim.voters.events import Confirmed
from penstock.sim.voters.nodes import VoterNodes
from penstock.sim.voters.watching import Watch
from penstock.sim.weather import Weather
from penstock.sim.world import DATA, World

STORM_US: Final = 60 * SECOND
FAULTS_MIN: Final = 10
HEALING_US_MAX: Final = 60 * SECOND
DECISION_US_MAX: Final = 400 * MS
LAST_DECISIONS: Final = 5
SOON_US_MAX: Final = 10 * MS
SHORT_OUTAGE_US_MAX: Final = 50 * MS
ISOLATION_US: Final = 2 * SECOND
LOSS_US: Final = 300 * MS
LOSS_INTERVAL_US_MAX: Final = 8 * SECOND
FOLDER: Final = f"{DATA}/{METADATA_DIR}"


class Scenario:
    """Plays a storm over some voters."""

    def __init__(
        self, world: World[Court], storm: tuple[Fault, ...], unlucky: float, *, loses_metadata: bool = False
    ) -> None:
        self._world = world
        self._loses_metadata = loses_metadata
        self._losses = world.chance.fork("losses")
        # Whose metadata was lost last, and the process that it was lost by.
        self._lost: tuple[int, Node | None] | None = None
        self._storm = storm
        self._unlucky = unlucky
        self._chance = world.chance.fork("scenario")
        self._watches = {number: Watch(site, world.witness, world.trace) for number, site in world.sites.items()}
        for number, watch in self._watches.items():
            watch.on_vote = partial(self._voted, number)
        self._decisions = 0
        self._confirmed = 0
        self._is_stormy = True

    def play(self) -> None:
        world, scheduler = self._world, self._world.scheduler
        world.boot()
        weather = Weather(world, world.chance.fork("weather"))
        weather.schedule(self._storm)
        scheduler.after(0, self._decide)
        if self._loses_metadata:
            scheduler.after(self._losses.between(SECOND, LOSS_INTERVAL_US_MAX), self._lose_metadata)
        scheduler.run_until(scheduler.now_us + STORM_US)
        self._is_stormy = False
        weather.end()
        self._demand_progress()

    # Deciding

    def _decide(self) -> None:
        """Submit something to somebody who takes itself for the leader; there may be two of those."""
        leading = [number for number, watch in self._watches.items() if watch.leads]
        if leading:
            self._submit(self._chance.pick(leading))
        self._world.scheduler.after(self._chance.skewed(1 * MS, DECISION_US_MAX), self._decide)

    def _submit(self, number: int) -> None:
        def submit(node: SimNode) -> None:
            if not (isinstance(node, Node) and node.quorum.leads):
                return
            self._decisions += 1
            key = f"{self._decisions:05d}"
            record = ConfigRecord(resource_type=GROUP_RESOURCE, resource_name=key, name="by", value=str(number))

            def done(code: ErrorCode) -> None:
                if code is ErrorCode.NONE:
                    self._confirmed += 1
                    self._world.witness.see(Confirmed(key, node.quorum.committed_image.offset))

            node.submit([record], done)

        self._world.sites[number].machine.turn(submit)

    # Bad luck

    def _voted(self, voter: int, candidate: int) -> None:
        """Who has just voted for another may lose its power when that one is cut off, and come back soon enough to be
        asked again by somebody who has heard nothing of it."""
        if self._is_stormy and voter != candidate and self._chance.happens(self._unlucky):
            self._world.trace.counts["outage-after-vote"] += 1
            delay_us = self._chance.between(1 * MS, SOON_US_MAX)
            self._world.scheduler.after(delay_us, lambda: self._separate(voter, candidate))

    def _separate(self, voter: int, candidate: int) -> None:
        world = self._world
        world.sites[voter].power_loss(self._chance.between(1 * MS, SHORT_OUTAGE_US_MAX))
        world.network.darken(candidate)
        world.scheduler.after(ISOLATION_US, lambda: world.network.relight(candidate))

    def _lose_metadata(self) -> None:
        """A voter loses its power, and what its disk held of the metadata; never two, or nobody would remember."""
        if not self._is_stormy:
            return
        sites = self._world.sites
        if self._has_recovered():
            number = self._losses.pick(list(sites))
            self._lost = number, self._watches[number].node
            sites[number].power_loss(LOSS_US)
            self._world.trace.counts["metadata-lost"] += 1
            for name in _metadata(sites[number]):
                if name.endswith((".log", ".checkpoint")):
                    _overwrite(sites[number], f"{FOLDER}/{name}")
        self._world.scheduler.after(self._losses.between(SECOND, LOSS_INTERVAL_US_MAX), self._lose_metadata)

    def _has_recovered(self) -> bool:
        """Whether a later process than the one that lost its metadata, if any did, has all of it again."""
        if self._lost is None:
            return True
        number, before = self._lost
        node = self._watches[number].node
        is_marked = setting_aside.FILE in _metadata(self._world.sites[number])
        return node is not None and node is not before and node.quorum.loss is None and not is_marked

    # The end

    def _demand_progress(self) -> None:
        """Within a while decisions are confirmed again, and then everybody has them."""
        scheduler = self._world.scheduler
        deadline_us = scheduler.now_us + HEALING_US_MAX
        wanted = self._confirmed + LAST_DECISIONS
        if not scheduler.run_while(lambda: self._confirmed < wanted, deadline_us):
            raise Violation(f"nothing is decided any more: {self._describe()}")
        target = max(watch.offset for watch in self._watches.values())
        if not scheduler.run_while(lambda: any(w.offset < target for w in self._watches.values()), deadline_us):
            raise Violation(f"not everybody has come to {target}: {self._describe()}")

    def _describe(self) -> str:
        """Who is what, for the one who looks for the reason."""
        found = []
        for number, watch in self._watches.items():
            node = watch.node
            state = "down" if node is None else f"{node.state} {node.failure or ''} {_standing(node)}"
            found.append(f"{number}: {state}")
        return "; ".join(found) + "\n" + write_storm(self._storm)


def _metadata(site: Site) -> list[str]:
    """The files of the metadata log on a disk."""
    platter = site.disk.volume.platter
    folder = platter.directory(DATA).names.get(METADATA_DIR)
    return sorted(folder.names) if isinstance(folder, DirectoryNode) else []


def _overwrite(site: Site, path: str) -> None:
    file = site.disk.volume.platter.file(path)
    file.written[:] = bytes(each ^ 0x5A for each in file.written)
    file.synced = bytes(file.written)


def _standing(node: Node) -> str:
    quorum = node.quorum
    role, election = type(quorum.raft.role).__name__, quorum.raft.election
    return f"{role} {election} {quorum.log} at {node.image.offset}"


def run_voters(seed: int, machines: int = 3, *, loses_metadata: bool = False) -> Report:
    """Run one seed to its end or to its first violation."""
    chance = Chance(f"voters-{seed}")
    storm = draw_storm(chance, machines, STORM_US, FAULTS_MIN)
    disk = DiskProfile(inline=chance.pick((0.0, 0.5, 0.9)))
    world = World(seed, VoterNodes(machines), Court, disk, NetworkProfile(drips=0.02), machines=machines)
    scenario = Scenario(world, storm, unlucky=chance.pick((0.0, 0.1, 0.4)), loses_metadata=loses_metadata)
    return reported(seed, world.scheduler, world.trace, scenario.play)
