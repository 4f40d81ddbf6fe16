"""`penstock cluster` and `penstock config` on a running node."""

import json

from penstock.client.api_difference import CONTROLLER_ONLY, NOT_EXPLAINED, beside_kafka
from penstock.core.wire.api_table import APIS
from tests.cli.running import Shell
from tests.waiting import wait_until


def test_the_cluster_and_its_brokers(penstock: Shell) -> None:
    penstock("produce", "some", stdin=b"data\n")
    info = json.loads(penstock("cluster", "info", "-o", "json").out)
    assert len(info["cluster_id"]) == 22
    assert info["features"]["metadata.version"] >= 7
    (broker,) = info["brokers"]
    assert (broker["broker"], broker["controller"]) == (1, True)
    assert broker["size"] > 0
    assert broker["partitions"] >= 1
    shown = penstock("cluster", "info").out
    assert info["cluster_id"] in shown
    assert broker["address"] in shown


def test_versions_of_every_api(penstock: Shell) -> None:
    rows = {row["api"]: row for row in json.loads(penstock("cluster", "api-versions", "-o", "json").out)}
    # Clients break when Produce is not offered from version 0, although a broker refuses the first three.
    assert (rows["Produce"]["key"], rows["Produce"]["oldest"]) == (0, 0)
    assert rows["Fetch"]["newest"] >= rows["Fetch"]["our_oldest"]
    assert "CreateTopics" in penstock("cluster", "api-versions", "--broker", "1").out


def test_what_differs_from_kafka_is_explained(penstock: Shell) -> None:
    rows = json.loads(penstock("cluster", "api-versions", "--diff", "kafka-4.3", "-o", "json").out)
    differing = {row["api"]: (row["kafka-4.3"], row["offered"]) for row in rows}
    assert differing.get("SaslHandshake", ("0-1", "1-1")) == ("0-1", "1-1")
    assert not differing.keys() & {"Produce", "Fetch", "ConsumerGroupHeartbeat", "JoinGroup"}
    assert NOT_EXPLAINED not in [row["why"] for row in rows]
    assert penstock("cluster", "api-versions", "--diff", "kafka-3.0").code == 2


def test_only_what_differs_is_shown_and_what_nobody_explained_stands_out() -> None:
    assert len([key for key in APIS if key not in CONTROLLER_ONLY]) == 77
    assert APIS.keys() >= CONTROLLER_ONLY
    missing = {row.key: row for row in beside_kafka({1: range(4, 18)})}
    assert (missing[1].kafka, missing[1].offered, missing[1].why) == ("4-18", "4-17", NOT_EXPLAINED)
    assert (missing[0].kafka, missing[0].offered) == ("0-13", None)

    unstable = {row.key: row.why for row in beside_kafka({22: range(7)})}
    assert unstable[22] == "unstable.api.versions.enable is set"


def test_settings_of_a_topic_are_shown_changed_and_forgotten(penstock: Shell) -> None:
    penstock("topic", "create", "set")

    def own() -> dict[str, str]:
        rows = json.loads(penstock("config", "describe", "--topic", "set", "-o", "json").out)
        return {row["setting"]: row["value"] for row in rows if row["source"] == "topic"}

    assert own() == {}
    assert penstock("config", "alter", "--topic", "set", "--set", "retention.ms=7", "--dry-run").code == 0
    assert own() == {}
    changes = ("--set", "retention.ms=7", "--set", "cleanup.policy=compact")
    assert penstock("config", "alter", "--topic", "set", *changes).code == 0
    assert own() == {"retention.ms": "7", "cleanup.policy": "compact"}
    assert penstock("config", "alter", "--topic", "set", "--unset", "retention.ms").code == 0
    assert own() == {"cleanup.policy": "compact"}
    everything = json.loads(penstock("config", "describe", "--topic", "set", "--all", "-o", "json").out)
    assert len(everything) > 20


def test_a_change_is_made_as_a_whole_or_not_at_all(penstock: Shell) -> None:
    penstock("topic", "create", "whole")
    refused = penstock("config", "alter", "--topic", "whole", "--set", "retention.ms=7", "--set", "segment.bytes=many")
    assert refused.code == 1
    assert "INVALID_CONFIG" in refused.err
    assert "retention.ms" not in penstock("config", "describe", "--topic", "whole").out


def test_settings_of_a_broker(penstock: Shell) -> None:
    assert "log.dirs" in penstock("config", "describe", "--broker", "1").out
    alter = ("config", "alter", "--broker")
    assert penstock(*alter, "default", "--set", "log.retention.ms=3600000").code == 0

    def shown() -> list[tuple[str | None, str]]:
        rows = json.loads(penstock("config", "describe", "--broker", "1", "-o", "json").out)
        return [(row["value"], row["source"]) for row in rows if row["setting"] == "log.retention.ms"]

    # Kafka's broker has the setting when the metadata has come to it, and the value perhaps after its source.
    wait_until(lambda: shown() == [("3600000", "all brokers")], what="a setting for all brokers")
    assert penstock(*alter, "default", "--unset", "log.retention.ms").code == 0
    fixed = penstock(*alter, "1", "--set", "node.id=7")
    assert fixed.code == 1
    assert penstock(*alter, "many", "--set", "log.retention.ms=1").code == 2


def test_which_settings_must_be_said(penstock: Shell) -> None:
    assert penstock("config", "describe").code == 2
    assert penstock("config", "describe", "--topic", "a", "--broker", "1").code == 2
    assert penstock("config", "alter", "--topic", "a").code == 2
    missing = penstock("config", "describe", "--topic", "nowhere")
    assert missing.code == 1
    assert "UNKNOWN_TOPIC_OR_PARTITION" in missing.err
