"""Spark's own Kafka connector, to hold Penstock against: its jars, fetched by Maven once."""

from pathlib import Path

from tests.kafka_peer.libs import fetched_jars

POM = Path(__file__).resolve().parent / "pom.xml"


def connector_jars() -> str:
    """The jars as `spark.jars` wants them. A session's jars are fixed when it starts."""
    return ",".join(str(jar) for jar in sorted(fetched_jars(POM, "spark-stock-connector").glob("*.jar")))
