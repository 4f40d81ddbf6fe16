"""Every bug that is planted in transactions is found within a few seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations

import pytest

from penstock.sim.clients.transactor import ProgramPlan
from penstock.sim.cluster_scenario import run_cluster_seed
from penstock.sim.cluster_spec import NEAR, NOTHING_BESIDE, ClusterSpec, draw_cluster, parse_happenings
from penstock.sim.planted import planting
from penstock.sim.planted_transactions import TRANSACTION_BUGS
from penstock.sim.scheduler import SECOND
from penstock.sim.transactions.plan import ChainPlan
from tests.fresh_seeds import fresh

SEEDS_MAX = 200
SEEDS_SOON_MAX = 10
STORM_US = 25 * SECOND
HINTS = {"marker lost": 4, "two coordinators write": 3, "aborted index not truncated": 22}
"""Seeds that showed a bug when this was written; they are tried first, to save the time of those before them."""
QUIET = ""
LEADERS_ARE_LOST = "".join(f"at {s} s isolate {1 + s // 4 % 3} for 3 s\n" for s in range(1, 24, 4))
# Others lead for a coordinator while what it says of ends does not get through to one of the partitions.
TAKEN_OVER = "".join(
    f"at {2 + 4 * number} s cut {one}>{deaf} for 2 s\n"
    f"at {3 + 4 * number} s drain {one}\nat {4 + 4 * number} s undrain {one}\n"
    for number, (one, deaf) in enumerate(permutations((1, 2, 3), 2))
)
# Each goes on alone for a while, with its clients and the transactions that it coordinates; what it wrote then is cut.
ALONE = "".join(
    f"at {2 + 5 * number} s cut {one}-{other} for 3 s\n"
    for number, one in enumerate((1, 2, 3) * 2)
    for other in {1, 2, 3} - {one}
)
STORMS = {
    "marker lost": LEADERS_ARE_LOST,
    "two coordinators write": TAKEN_OVER,
    "aborted index not truncated": ALONE,
}
STORMS_US = {"aborted index not truncated": 40 * SECOND}
SOURCES = 12


def crowded(chain: ChainPlan) -> ChainPlan:
    """Many short transactions in one topic, so that something is always about to end."""
    topic = replace(chain.topics[0], partitions=3)
    sources = tuple(
        ProgramPlan(f"source-{number}", chain.level, timeout_ms=4_000, hurries=0.3) for number in range(SOURCES)
    )
    return replace(chain, topics=(topic,), sources=sources, links=())


def alone(chain: ChainPlan) -> ChainPlan:
    """The same; a coordinator asks nobody, and readers go to whoever stands near, with what that one has kept."""
    (topic,) = crowded(chain).topics
    copies = {
        "transaction.state.log.num.partitions": "3",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    sources = tuple(
        replace(each, transactional_id=f"{each.transactional_id}-{number}", hurries=0.5)
        for number in range(2)
        for each in crowded(chain).sources
    )
    return replace(
        chain,
        topics=(replace(topic, partitions=1),),
        sources=sources,
        links=(),
        settings={**chain.settings, **copies, **NEAR},
    )


def apart(chain: ChainPlan) -> ChainPlan:
    """The same in the first protocol, and nobody has to wait for whom a coordinator does not reach."""
    (topic,) = crowded(chain).topics
    configs = {**topic.configs, "min.insync.replicas": "1"}
    sources = tuple(replace(each, protocol=1, hurries=0.0) for each in crowded(chain).sources)
    copies = {"transaction.state.log.replication.factor": "2", "transaction.state.log.min.isr": "1"}
    return replace(
        crowded(chain),
        topics=(replace(topic, replicas=1, configs=configs),),
        sources=sources,
        settings={**chain.settings, **copies},
    )


CHAINS = {
    "marker lost": crowded,
    "timeout forgotten": crowded,
    "two coordinators write": apart,
    "aborted index not truncated": alone,
}


def spec_of(seed: int, bug: str) -> ClusterSpec:
    """Nothing but a chain, in the trouble that provokes a bug."""
    drawn = draw_cluster(seed, 3, replace(NOTHING_BESIDE, chains=1.0))
    assert drawn.chain is not None
    chain = CHAINS.get(bug, lambda chain: chain)(drawn.chain)
    storm, errands = parse_happenings(STORMS.get(bug, QUIET))
    return replace(
        drawn,
        chain=chain,
        settings={**drawn.settings, **chain.settings},
        storm=storm,
        errands=errands,
        storm_us=STORMS_US.get(bug, STORM_US),
        producers=(),
        groups=(),
        members_each=0,
        onlookers=0,
        records_min=0,
    )


def first_failure(bug: str, seeds: Iterable[int]) -> Exception | None:
    with planting(TRANSACTION_BUGS[bug]()):
        runs = (run_cluster_seed(seed, spec_of(seed, bug)) for seed in seeds)
        return next((report.failure for report in runs if report.failure is not None), None)


@pytest.mark.slow
@pytest.mark.parametrize("bug", TRANSACTION_BUGS)
def test_a_chain_s_seeds_find(bug: str) -> None:
    hint = HINTS.get(bug, 0)
    assert first_failure(bug, [hint, *(seed for seed in range(SEEDS_SOON_MAX) if seed != hint)]) is not None


@pytest.mark.soak
@pytest.mark.parametrize("bug", TRANSACTION_BUGS)
def test_fresh_seeds_find(bug: str) -> None:
    assert first_failure(bug, fresh(SEEDS_MAX)) is not None


@pytest.mark.slow
@pytest.mark.parametrize("bug", {storm: bug for bug, storm in STORMS.items()}.values())
def test_without_it_nothing_is_found(bug: str) -> None:
    assert run_cluster_seed(0, spec_of(0, bug)).failure is None
