"""What a node has complained of: that it is ready, and who is the controller, it says when it is well too."""

from penstock.testing import Broker


def complaints(broker: Broker) -> list[str]:
    return [line for line in broker.talk().splitlines() if " INFO " not in line]
