"""Whole nodes as a cluster: clients at work through storms, and everything acknowledged is there in the end."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from penstock.sim.cluster_making import make_cluster
from penstock.sim.cluster_scenario import run_cluster_seed
from penstock.sim.cluster_spec import NOTHING_BESIDE, ClusterSpec, Shares, draw_cluster
from penstock.sim.errands import Errand
from penstock.sim.report import Report
from penstock.sim.scheduler import SECOND
from penstock.sim.storm import parse_storm
from tests.sim.many_seeds import run_all

SEEDS = range(6)
FOUND = (12, 65, 348)
"""Seeds that have shown something: a false OFFSET_OUT_OF_RANGE, a lost record, a partition without a leader."""
FOUND_SINCE = (
    (10_006, 3),
    (10_032, 5),
    (10_340, 3),
    (10_643, 3),
    (10_723, 3),
    (10_747, 5),
    (10_897, 3),
    (858_320_162, 3),
    (858_321_184, 3),
    (314_189_028, 3),
)
"""Seeds, and how many machines they were: a change of voters whose leader went, settings that were none any longer, a
move that cannot be undone, a broker that served before it knew what it had lost, controllers that took old fetches for
new ones, a setting that was asked for again by bytes that had been given up, a node that stopped for ever, a leader
that was answered before anybody acted on what had been decided, and one that needed fewer and did not count again."""
FOUND_ESTRANGED = ((910_002, 3), (910_025, 3), (980_051, 5))
"""A leader that waited for a follower out of sync to join, and did not look again when it was heard of no more; and
what a process had sent when it died, which arrived when a cut was over."""
FOUND_LATELY = ((913_940_047, 5), (400_440_785, 3), (768_420_251, 5), (768_420_715, 5), (749_440_299, 3))
"""A log that was taken offline because its owner's file was to be synced before the slow disk had it; replicas that
differed where nobody looks any more, below their start; logs that were taken offline because a file below a gap was
to be synced before the disk had it, while their leaders waited for them; and a broker that was back before it was
committed that it had handed over, and was sent away for that."""
FOUND_ON_BAD_DISKS = ((724_000_001, 3), (724_000_007, 3), (724_000_041, 3), (724_000_168, 3))
"""Voters that took themselves for alone, since all that named the others was damaged, and a disk whose refusal to take
back a note was a refusal to take back a note; and a judge who took damage for nothing."""
FOUND_WITH_CHAINS = ((908_670_161, 3), (551_230_017, 3), (551_230_068, 3))
"""A replica that lacked the marker of a transaction, because rot had moved it to an offset that was cut off; a
transaction that stayed open for as long as its coordinator's clock had been ahead; and a judge who asked a replica
again and again for a batch that had rotted there, and no other one."""
ALL_THAT_HARMS = Shares(near_readers=1.0, hostiles=1.0, failed_disks=1.0, rots=1.0, shortages=1.0, chains=1.0)
BAD_DISKS = Shares(
    near_readers=1.0, hostiles=1.0, failed_disks=1.0, rots=1.0, stagings=0.5, shortages=0.0, drains=0.0, chains=0.0
)
AS_BEFORE = Shares(near_readers=0.0, hostiles=0.0, failed_disks=0.0, rots=0.0, shortages=0.0, drains=0.0, chains=0.0)
"""What these seeds drew when they showed something."""
BRIEF_US = 8 * SECOND
BRIEF_RECORDS = 100
MUST_HAPPEN = ("records-acknowledged", "crash", "power-loss", "pause", "fault-cut", "fault-isolate", "Down", "Up")
MUST_HAPPEN_TOO = ("elections", "in-sync-shrinks", "truncations", "snapshot-loads", "reassignments", "unclean-stops")


def brief(seed: int, storm: str = "") -> ClusterSpec:
    """A seed's workload, for a short while, with a storm of one's own."""
    return replace(
        draw_cluster(seed, 3, AS_BEFORE),
        storm=parse_storm(storm),
        errands=(),
        storm_us=BRIEF_US,
        records_min=BRIEF_RECORDS,
    )


def run_briefly(seed: int) -> Report:
    return run_cluster_seed(seed, brief(seed, "at 1 s cut 1-2 for 2 s\nat 2 s power-loss 3 for 1 s"))


def run(seed: int) -> Report:
    return run_cluster_seed(seed, draw_cluster(seed, 3))


def run_found(seed: int) -> Report:
    """As it was when it showed something: before there were absences and other voters."""
    return run_cluster_seed(seed, draw_cluster(seed, 3, NOTHING_BESIDE))


def run_found_since(seed: int, machines: int) -> Report:
    """As it was then: before two machines could lose sight of each other."""
    return run_cluster_seed(seed, draw_cluster(seed, machines, replace(AS_BEFORE, estrangements=0.0)))


@pytest.mark.slow
def test_a_cluster_serves_its_clients() -> None:
    report = run_cluster_seed(1, brief(1))
    assert report.failure is None, report.failure
    assert report.counts["records-acknowledged"] >= BRIEF_RECORDS
    assert report.counts["Up"] == 3


@pytest.mark.slow
def test_a_cluster_survives_the_loss_of_a_voter_beside_one_that_went() -> None:
    errands = (Errand(1 * SECOND, "unseat", "1"), Errand(4 * SECOND, "seat", "1"))
    spec = replace(brief(4, "at 2 s crash 2 for 1 s"), errands=errands, is_dynamic=True)
    report = run_cluster_seed(4, spec)
    assert report.failure is None, report.failure
    assert report.counts["voter-changes"] == 2
    assert report.counts["Found"] == 1


def test_a_cluster_survives_one_of_three() -> None:
    report = run_cluster_seed(2, brief(2, "at 2 s crash 1 for 2 s"))
    assert report.failure is None, report.failure
    assert report.counts["fault-crash"] == 1


@pytest.mark.slow
def test_a_seed_is_a_run() -> None:
    first, second = run_briefly(3), run_briefly(3)
    assert first.trace_hash == second.trace_hash
    assert first.events == second.events


def test_every_drawn_run_is_large_enough() -> None:
    for seed in range(100):
        spec = draw_cluster(seed, 3)
        assert spec.storm_us >= 60 * SECOND
        assert any(plan.acks == -1 for plan in spec.producers)
        unlucky = {fault.one for fault in spec.storm if fault.kind == "power-loss"}
        assert len(unlucky) < 2 or spec.topics[0].configs["flush.messages"] == "1"


def test_an_absence_and_other_voters_come_beside_what_a_seed_draws_without_them() -> None:
    for seed in range(50):
        # Where metadata rots, nobody is unseated.
        drawn = draw_cluster(seed, 3, Shares(absences=1.0, reseatings=1.0, rots=0.0))
        without = draw_cluster(seed, 3, Shares(absences=0.0, reseatings=0.0, rots=0.0))
        assert set(without.storm) < set(drawn.storm)
        assert len(drawn.storm) == len(without.storm) + 1
        added = [errand.kind for errand in drawn.errands if errand not in without.errands]
        assert set(added) == {"set", "reassign", "seat", "unseat"}
        assert len(drawn.errands) == len(without.errands) + len(added)
        as_before = replace(drawn, storm=without.storm, errands=without.errands, settings=without.settings)
        assert replace(as_before, is_dynamic=False) == without


def test_they_come_often_and_not_always() -> None:
    drawn = [draw_cluster(seed, 3) for seed in range(100)]
    dynamic = [spec for spec in drawn if spec.is_dynamic]
    absent = [
        seed for seed, spec in enumerate(drawn) if spec.storm != draw_cluster(seed, 3, Shares(absences=0.0)).storm
    ]
    assert 20 < len(dynamic) < 50
    assert 30 < len(absent) < 60


def test_an_estrangement_is_one_more_cut() -> None:
    for seed in range(50):
        drawn, without = (draw_cluster(seed, 5, Shares(estrangements=each)) for each in (1.0, 0.0))
        (cut,) = set(drawn.storm) - set(without.storm)
        assert cut.kind == "cut"
        assert cut.for_us >= 10 * SECOND
        assert {cut.one, cut.other} < set(range(1, 6))
        assert replace(drawn, storm=without.storm) == without


def test_machines_are_formatted_once_and_for_one_cluster() -> None:
    world = make_cluster(1, ClusterSpec(3))
    world.boot()
    world.scheduler.run_until(5 * SECOND)
    metas = {number: _meta(site.disk) for number, site in world.sites.items()}
    assert len({line for meta in metas.values() for line in meta if line.startswith("cluster.id")}) == 1
    world.sites[1].power_loss(1)
    world.scheduler.run_until(10 * SECOND)
    assert _meta(world.sites[1].disk) == metas[1]


def _meta(disk: object) -> list[str]:
    return disk.volume.platter.file("/data/meta.properties").written.decode().splitlines()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_cluster_keeps_its_promises() -> None:
    run_all(run, SEEDS, MUST_HAPPEN + MUST_HAPPEN_TOO)


@pytest.mark.slow
def test_what_a_cluster_once_showed_is_mended() -> None:
    run_all(run_found, FOUND, MUST_HAPPEN)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "machines"), FOUND_SINCE)
def test_what_a_cluster_has_shown_since_is_mended(seed: int, machines: int) -> None:
    run_all(partial(run_found_since, machines=machines), [seed], ())


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "machines"), FOUND_LATELY)
def test_what_a_cluster_has_shown_lately_is_mended(seed: int, machines: int) -> None:
    run_all(lambda seed: run_cluster_seed(seed, draw_cluster(seed, machines, AS_BEFORE)), [seed], ())


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "machines"), FOUND_ESTRANGED)
def test_what_an_estrangement_has_shown_is_mended(seed: int, machines: int) -> None:
    run_all(
        lambda seed: run_cluster_seed(seed, draw_cluster(seed, machines, replace(AS_BEFORE, estrangements=1.0))),
        [seed],
        (),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "machines"), FOUND_ON_BAD_DISKS)
def test_what_bad_disks_have_shown_is_mended(seed: int, machines: int) -> None:
    run_all(lambda seed: run_cluster_seed(seed, draw_cluster(seed, machines, BAD_DISKS)), [seed], ())


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "machines"), FOUND_WITH_CHAINS)
def test_what_transactions_have_shown_on_bad_disks_is_mended(seed: int, machines: int) -> None:
    run_all(lambda seed: run_cluster_seed(seed, draw_cluster(seed, machines, ALL_THAT_HARMS)), [seed], ())
