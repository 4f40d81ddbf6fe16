"""How a run's topics are reached: by what the run was told, or by what a source or a sink says of another cluster."""

from penstock.client.security import security_of
from penstock.core.peer.login import Identity
from penstock.spark.pipelines import TopicSource
from penstock.spark.pipelines.cluster import Cluster, cluster_of

HERE = Cluster("here:1", {"bootstrap.servers": "first:1", "security.protocol": "SASL_SSL", "sasl.password": "hidden"})


def test_a_source_is_reached_as_the_run_is() -> None:
    assert HERE.merged_with({"Kafka.Sasl.Password": "own", "failOnDataLoss": "false"}) == {
        "kafka.bootstrap.servers": "here:1",
        "kafka.security.protocol": "SASL_SSL",
        "Kafka.Sasl.Password": "own",
        "failOnDataLoss": "false",
    }
    assert cluster_of(TopicSource("t"), HERE) is HERE


def test_another_cluster_hears_nothing_of_our_password() -> None:
    options = {
        "Kafka.Bootstrap.Servers": "there:1",
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": "bob",
        "KAFKA.sasl.password": "bobs",
    }
    assert HERE.merged_with(options) == options
    there = cluster_of(TopicSource("t", options=options), HERE)
    assert there.bootstrap == "there:1"
    assert security_of(there.settings).identity == Identity("PLAIN", "bob", "bobs")
    assert "bobs" not in repr(there)
