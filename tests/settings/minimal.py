"""The fewest settings a node starts with."""

from penstock.core.base.settings import BrokerSettings

MINIMAL = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "controller.quorum.voters": "1@127.0.0.1:9093",
}


def settings(**changes: str) -> BrokerSettings:
    """Keyword names are Kafka's with underscores for the dots."""
    return BrokerSettings(MINIMAL | {name.replace("_", "."): value for name, value in changes.items()})
