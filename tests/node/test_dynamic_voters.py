"""Voters that are kept in the log: a cluster begins with some, and others come and go while it works."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.features import KRAFT_VERSION
from penstock.core.wire.api.api_versions import ApiVersionsRequest
from penstock.core.wire.api.describe_cluster import DescribeClusterRequest
from penstock.core.wire.api.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from penstock.sim.cluster import ClusterNodes
from penstock.sim.dynamic import DynamicNodes, seating, unseating
from penstock.sim.machine import CONTROLLER_PORT
from penstock.sim.scheduler import SECOND
from tests.node.quorum.test_rebuilding import damage
from tests.node.towns import JOINING, QUORUM, Town

GREETING = ApiVersionsRequest(client_software_name="t", client_software_version="1")


def growing(machines: int, founders: int, settings: Mapping[str, str] | None = None) -> Town:
    return Town(machines, DynamicNodes(machines, founders, settings))


def test_a_cluster_begins_with_the_voters_it_was_formatted_with() -> None:
    town = growing(3, 3)
    town.boot(1, 2, 3)
    assert town.voters(1) == [1, 2, 3]
    assert all(town.node(number).quorum.kraft_version == 1 for number in (1, 2, 3))
    features = {each.name: each.max_version_level for each in town.ask(2, GREETING).finalized_features}
    assert features[KRAFT_VERSION] == 1


def test_a_controller_that_was_added_votes_and_takes_over() -> None:
    town = growing(3, 1)
    town.boot(1)
    town.boot(2, 3)
    assert town.voters(1) == [1]
    observers = town.ask(1, QUORUM).topics[0].partitions[0].observers
    assert sorted(each.replica_id for each in observers) == [2, 3]
    # Asked of a broker, which lets the leader do it.
    assert town.ask(3, seating(2)).error_code == 0
    assert town.ask(1, seating(3), CONTROLLER_PORT).error_code == 0
    town.wait(lambda: all(town.voters(number) == [1, 2, 3] for number in (1, 2, 3)))
    town.world.sites[1].machine.crash()
    town.wait(town.has_leader)
    assert town.leader in (2, 3)
    assert town.create(2, "t", 2) == 0


def test_a_controller_adds_itself_if_it_may() -> None:
    town = growing(3, 1, JOINING)
    town.boot(1)
    town.boot(2, 3)
    town.wait(lambda: town.voters(1) == [1, 2, 3])


def test_a_controller_does_not_add_itself_unasked() -> None:
    town = growing(2, 1)
    town.boot(1)
    town.boot(2)
    town.pass_time(20)
    assert town.voters(1) == [1]


def test_the_first_controller_is_known_to_those_that_came_later() -> None:
    """It had nobody to introduce itself to while it was alone."""
    town = growing(2, 1, JOINING)
    town.boot(1)
    town.boot(2)
    town.wait(lambda: town.node(2).image.controllers.keys() == {1, 2})
    found = town.ask(2, DescribeClusterRequest(endpoint_type=2), CONTROLLER_PORT)
    assert sorted(each.broker_id for each in found.brokers) == [1, 2]


def test_the_broker_of_the_first_controller_goes_on_under_another_one() -> None:
    town = growing(3, 1, JOINING)
    town.boot(1)
    town.boot(2, 3)
    town.wait(lambda: all(town.voters(number) == [1, 2, 3] for number in (1, 2, 3)))
    ways = ((1, 2), (1, 3), (2, 1), (3, 1))
    town.world.network.close(*ways)
    town.wait(lambda: any(town.node(number).quorum.leads for number in (2, 3)))
    town.world.network.reopen(*ways)
    town.wait(lambda: not any(broker.fenced for broker in town.node(2).image.brokers.values()))
    town.pass_time(5)
    assert town.leader in (2, 3)
    assert not any(broker.fenced for broker in town.node(town.leader).image.brokers.values())


def test_a_voter_that_was_removed_observes() -> None:
    town = growing(3, 3)
    town.boot(1, 2, 3)
    town.wait(town.has_leader)
    leader = town.leader
    gone = next(number for number in (1, 2, 3) if number != leader)
    assert town.ask(leader, unseating(gone)).error_code == 0
    town.wait(lambda: gone not in town.voters(gone))
    assert town.create(gone, "t", 3) == 0
    assert town.node(gone).state == "running"


def test_a_leader_that_is_removed_hands_over() -> None:
    town = growing(3, 3)
    town.boot(1, 2, 3)
    town.wait(town.has_leader)
    old = town.leader
    assert town.ask(old, unseating(old)).error_code == 0
    town.wait(lambda: town.has_leader() and town.leader != old)
    assert old not in town.voters(town.leader)


def test_a_voter_that_removed_itself_finds_the_others_though_its_settings_name_only_itself() -> None:
    town = growing(2, 1)
    town.boot(1)
    town.boot(2)
    assert town.ask(1, seating(2)).error_code == 0
    town.wait(lambda: town.voters(2) == [1, 2])
    assert town.ask(1, unseating(1)).error_code == 0
    town.wait(lambda: town.node(2).quorum.leads and town.node(1).quorum.leader_id == 2)
    town.pass_time(5)
    assert not any(broker.fenced for broker in town.node(2).image.brokers.values())


def test_a_voter_starts_again_with_what_its_log_says() -> None:
    town = growing(3, 1, JOINING)
    town.boot(1)
    town.boot(2, 3)
    town.wait(lambda: all(town.voters(number) == [1, 2, 3] for number in (1, 2, 3)))
    for number in (1, 2, 3):
        town.world.sites[number].power_loss(1)
    town.wait(lambda: all(map(town.is_running, (1, 2, 3))) and town.has_leader())
    assert all(town.voters(number) == [1, 2, 3] for number in (1, 2, 3))


def test_a_voter_that_can_read_nothing_of_the_others_asks_whom_its_settings_name() -> None:
    town = growing(3, 3)
    town.boot(1, 2, 3)
    site = town.world.sites[3]
    site.crash(SECOND)
    damage(site)
    town.wait(lambda: town.is_running(3) and not town.node(3).quorum.raft.is_rebuilding)
    assert town.voters(3) == [1, 2, 3]
    assert town.node(3).metrics.metadata_rebuilds == 1


def test_fixed_voters_refuse_company_until_they_are_moved_into_the_log() -> None:
    town = Town(3, ClusterNodes(3))
    town.boot(1, 2, 3)
    town.wait(town.has_leader)
    refusal = town.ask(1, seating(4))
    assert refusal.error_code == ErrorCode.UNSUPPORTED_VERSION
    raising = UpdateFeaturesRequest(
        feature_updates=[FeatureUpdateKey(feature=KRAFT_VERSION, max_version_level=1, upgrade_type=1)]
    )
    town.pass_time(10)
    assert town.ask(1, raising).error_code == 0
    town.wait(lambda: all(town.node(number).quorum.kraft_version == 1 for number in (1, 2, 3)))
    town.wait(lambda: len(town.ask(1, QUORUM).topics[0].partitions[0].current_voters) == 3)
    lowering = FeatureUpdateKey(feature=KRAFT_VERSION, max_version_level=0, upgrade_type=3)
    refused = town.ask(1, UpdateFeaturesRequest(feature_updates=[lowering]))
    assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION
